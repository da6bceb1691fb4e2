# frozen_string_literal: true

require_relative 'connection'

module PuppetX
  module Availability
    # Requests a path with GET, and compares the status. Redirects are not followed, and bodies are not read.
    class HttpProbe
      PORTS = { true => 443, false => 80 }.freeze
      # Longest line of a header, in bytes.
      LINE_MAX = 16 * 1024
      # Statuses before the one that counts, such as 100 and 103.
      INTERIM = (100..199).freeze

      def initialize(attributes)
        @host = attributes.host
        @address = attributes.address
        @is_tls = attributes.ssl?
        @port = attributes.port(PORTS[@is_tls])
        @path = attributes.base_path
        @shown_path = attributes.shown_base_path
        @status_codes = attributes.status_codes
        @trust = attributes.trust
      end

      def place
        by = @address == @host ? '' : " (at #{@address})"
        "#{@is_tls ? 'https' : 'http'}://#{authority}#{@shown_path}#{by}"
      end

      def attempt(deadline)
        Connection.open(@address, @port, deadline) do |connection|
          connection.start_tls(@host, @trust) if @is_tls
          connection.write(request)
          status = read_status(connection)
          unless @status_codes.include?(status)
            raise Failure, "the status is #{status}, and not #{@status_codes.join(' or ')}"
          end
        end
      end

      private

      def authority
        Connection.authority(@host, @port == PORTS[@is_tls] ? nil : @port)
      end

      def request
        "GET #{@path} HTTP/1.1\r\nHost: #{authority}\r\nUser-Agent: Puppet availability check\r\n" \
          "Accept: */*\r\nConnection: close\r\n\r\n"
      end

      def read_status(connection)
        loop do
          line = connection.read_line(LINE_MAX)
          found = %r{\AHTTP/1\.[01] ([1-5]\d\d)(?: |\z)}n.match(line)
          raise Failure, "the server does not answer with HTTP: #{ForeignText.clean(line)}" unless found

          status = found[1].to_i
          return status unless INTERIM.cover?(status)

          nil until connection.read_line(LINE_MAX).empty?
        end
      end
    end
  end
end
