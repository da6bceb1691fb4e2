# frozen_string_literal: true

require 'ipaddr'
require_relative 'failure'
require_relative 'trust'

module PuppetX
  module Availability
    # The attributes of a resource, checked when they are read: an invalid one fails its resource and not the catalog.
    class Attributes
      # Longest time for which a check waits, in seconds.
      TIMEOUT_MAX = 3600
      # Shortest pause between two attempts, in seconds.
      PING_INTERVAL_MIN = 0.1
      # Most status codes that count as available.
      STATUS_CODES_MAX = 500
      TRUE_OR_FALSE = { 'true' => true, 'false' => false }.freeze

      def initialize(resource)
        @resource = resource
      end

      def host
        host = text(:host)
        raise InvalidAttribute, 'has no `host`; set it in the mapping `produces` of the component' if host.empty?
        raise InvalidAttribute, '`host` is neither a host name nor an address' unless host.match?(/\A[\w.:-]+\z/)

        host
      end

      # The address to connect to, if it is not the one of the host.
      def address
        ip = text(:ip)
        return host if ip.empty?

        IPAddr.new(ip)
        ip
      rescue IPAddr::Error
        raise InvalidAttribute, '`ip` is not an address'
      end

      def port(default = nil)
        port = value(:port) || default
        raise InvalidAttribute, 'has no `port`; set it in the mapping `produces` of the component' if port.nil?

        number(:port, port, 1, 65_535).to_i
      end

      def timeout
        number(:timeout, value(:timeout) || 60, 1, TIMEOUT_MAX)
      end

      def ping_interval
        number(:ping_interval, value(:ping_interval) || 1, PING_INTERVAL_MIN, TIMEOUT_MAX)
      end

      def status_codes
        codes = [value(:status_codes) || 200].flatten
        raise InvalidAttribute, '`status_codes` is empty' if codes.empty?
        if codes.length > STATUS_CODES_MAX
          raise InvalidAttribute, "`status_codes` has more than #{STATUS_CODES_MAX} entries"
        end

        codes.map { |code| number(:status_codes, code, 100, 599).to_i }
      end

      def base_path
        path = text(:base_path)
        raise InvalidAttribute, '`base_path` has characters that no URL has' unless path.match?(/\A[!-~]*\z/)

        path.start_with?('/') ? path : "/#{path}"
      end

      # The path for messages: without its query, which may contain a secret.
      def shown_base_path
        secret?(:base_path) ? '/[redacted]' : base_path[/\A[^?#]*/]
      end

      def ssl?
        TRUE_OR_FALSE.fetch((value(:ssl) || false).to_s) do
          raise InvalidAttribute, '`ssl` is neither true nor false'
        end
      end

      def trust
        verify = text(:verify, 'puppet')
        unless %w[puppet system none].include?(verify) || verify.start_with?('/')
          raise InvalidAttribute, '`verify` is not puppet, system, none or the absolute path of a file'
        end

        Trust.new(verify)
      end

      def user(default)
        name(:user, default) || raise(InvalidAttribute, "`user` is empty; set it, or omit it for #{default}")
      end

      # A text for PostgreSQL, which ends texts with a NUL.
      def name(attribute, default = nil)
        name = text(attribute, default)
        raise InvalidAttribute, "`#{attribute}` contains a NUL" if name.include?("\0")

        name.empty? ? nil : name
      end

      private

      # Puppet unwraps most secrets of a catalog, and tells their names to the type.
      def secret?(attribute)
        return true if @resource[attribute].respond_to?(:unwrap)

        @resource.respond_to?(:secret_parameter?) && @resource.secret_parameter?(attribute)
      end

      # The value of an attribute without the wrapper of a secret; `nil` without a value.
      def value(attribute)
        value = @resource[attribute]
        value = value.unwrap if value.respond_to?(:unwrap)
        value == :undef ? nil : value
      end

      def text(attribute, default = nil)
        (value(attribute) || default).to_s
      end

      def number(attribute, value, least, most)
        number = Float(value)
        return number if number.between?(least, most)

        raise InvalidAttribute, "`#{attribute}` is not between #{least} and #{most}"
      rescue ArgumentError, TypeError
        raise InvalidAttribute, "`#{attribute}` is not a number"
      end
    end
  end
end
