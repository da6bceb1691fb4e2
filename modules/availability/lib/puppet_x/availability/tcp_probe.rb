# frozen_string_literal: true

require_relative 'connection'

module PuppetX
  module Availability
    # Connects to a port, and closes the connection.
    class TcpProbe
      def initialize(attributes)
        @host = attributes.host
        @port = attributes.port
      end

      def place
        Connection.authority(@host, @port)
      end

      def attempt(deadline)
        Connection.open(@host, @port, deadline) { |_| nil }
      end
    end
  end
end
