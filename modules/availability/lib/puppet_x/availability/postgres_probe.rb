# frozen_string_literal: true

require_relative 'connection'
require_relative 'postgres_authentication'
require_relative 'postgres_messages'

module PuppetX
  module Availability
    # Opens a session of PostgreSQL and selects 1. Without a password the server is available if it asks for one, or
    # refuses the user.
    class PostgresProbe
      PORT = 5432
      # The user of a check that names none.
      USER = 'postgres'
      PROTOCOL = 3 << 16
      SSL_REQUEST = [8, 80_877_103].pack('N2').freeze
      # Class of the codes of refused users and passwords.
      REFUSED = '28'
      # Messages that tell about the session, and wait for no answer.
      INFORMATION = %w[S K N A v].freeze

      def initialize(attributes)
        @host = attributes.host
        @port = attributes.port(PORT)
        @is_tls = attributes.ssl?
        @trust = attributes.trust
        @user = attributes.user(USER)
        @password = attributes.name(:password)
        @database = attributes.name(:database) || @user
      end

      def place
        "the PostgreSQL database #{@database} on #{Connection.authority(@host, @port)}"
      end

      def attempt(deadline)
        Connection.open(@host, @port, deadline) do |connection|
          start_tls(connection) if @is_tls
          messages = PostgresMessages.new(connection)
          messages.send_startup(PROTOCOL, 'user' => @user, 'database' => @database,
                                          'application_name' => 'Puppet availability check')
          next if open_session(messages) == :asks

          select_one(messages)
          messages.send('X', '')
        end
      end

      private

      def start_tls(connection)
        connection.write(SSL_REQUEST)
        answer = connection.read(1)
        raise Failure, 'the server does not offer TLS; set `ssl` to false' if answer == 'N'
        raise Failure, 'the server does not answer as PostgreSQL does' unless answer == 'S'

        connection.start_tls(@host, @trust)
      end

      # `:asks` if the server wants a password and there is none, or the session is open.
      def open_session(messages)
        authentication = PostgresAuthentication.new(messages, @user, @password, @is_tls)
        loop do
          type, body = messages.read
          case type
          when 'R' then return :asks if authentication.answer(body) == :asks
          when 'E' then return refusal(PostgresMessages.error(body))
          when 'Z' then return :open if authentication.complete?

            raise Failure, 'the server opened a session without authentication'
          when *INFORMATION then next
          else raise Failure, 'the server does not answer as PostgreSQL does'
          end
        end
      end

      # A server that refuses a user accepts connections.
      def refusal(error)
        return :asks if @password.nil? && error.code.start_with?(REFUSED)

        raise Failure, error.to_s
      end

      def select_one(messages)
        messages.send('Q', "SELECT 1\0")
        row = nil
        loop do
          type, body = messages.read
          case type
          when 'D' then row = body
          when 'E' then raise Failure, PostgresMessages.error(body).to_s
          when 'Z' then break
          when 'T', 'C', *INFORMATION then next
          else raise Failure, 'the server does not answer as PostgreSQL does'
          end
        end
        raise Failure, 'the answer to SELECT 1 is not 1' unless row == [1, 1].pack('nN') + '1'
      end
    end
  end
end
