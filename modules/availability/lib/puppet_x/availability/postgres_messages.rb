# frozen_string_literal: true

require_relative 'failure'

module PuppetX
  module Availability
    # The messages of PostgreSQL's protocol 3.0: a type, a length and a body.
    class PostgresMessages
      # Longest body, in bytes. Those of a start have less than 100, errors some hundred.
      BODY_MAX = 32 * 1024
      # Size of the length, which it contains.
      LENGTH = 4

      # An error of the server.
      ServerError = Struct.new(:code, :text) do
        def to_s
          "the server answers: #{ForeignText.clean(text)} (#{ForeignText.clean(code)})"
        end
      end

      def self.error(body)
        fields = body.split("\0").map { |field| [field[0], field[1..-1].to_s] }.to_h
        ServerError.new(fields['C'].to_s, fields['M'].to_s)
      end

      def initialize(connection)
        @connection = connection
      end

      def send(type, body)
        @connection.write(type + [body.bytesize + LENGTH].pack('N') + body.b)
      end

      def send_startup(protocol, parameters)
        body = [protocol].pack('N') + parameters.flatten.map { |text| "#{text}\0".b }.join + "\0"
        @connection.write([body.bytesize + LENGTH].pack('N') + body)
      end

      # The type and the body of the next message.
      def read
        type = @connection.read(1)
        length = @connection.read(LENGTH).unpack1('N') - LENGTH
        unless type.match?(/\A[A-Za-z]\z/n) && length.between?(0, BODY_MAX)
          raise Failure, 'the server does not answer as PostgreSQL does'
        end

        [type, @connection.read(length)]
      end
    end
  end
end
