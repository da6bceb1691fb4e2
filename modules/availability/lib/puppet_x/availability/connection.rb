# frozen_string_literal: true

require 'ipaddr'
require 'openssl'
require 'socket'
require_relative 'deadline'
require_relative 'failure'

module PuppetX
  module Availability
    # A TCP connection, with TLS if asked. Every call ends at the deadline, and no more than BYTES_MAX are read.
    class Connection
      # Bytes of one connection. Headers of HTTP and the greeting of PostgreSQL have some kilobytes.
      BYTES_MAX = 256 * 1024
      # Bytes of one read.
      CHUNK = 4096

      # Yields an open connection, and closes it.
      def self.open(host, port, deadline)
        connection = new(connect(host, port, deadline), deadline)
        begin
          yield connection
        ensure
          connection.close
        end
      rescue SystemCallError => e
        raise Failure, SystemCallError.new(nil, e.errno).message.downcase
      rescue IOError, OpenSSL::SSL::SSLError => e
        raise Failure, e.message
      end

      # Host and port as in a URL.
      def self.authority(host, port)
        "#{host.include?(':') ? "[#{host}]" : host}#{":#{port}" if port}"
      end

      # Connects to the first address of a host that answers. Each address gets an equal part of the time that is left.
      def self.connect(host, port, deadline)
        addresses = resolve(host, port, deadline)
        failure = nil
        addresses.each_with_index do |address, index|
          part = Deadline.new(deadline.left / (addresses.length - index), deadline)
          return connect_address(address, part)
        rescue SystemCallError, Failure => e
          failure = e
        end
        raise failure
      end

      # The system resolves names in a thread, since it has no timeout of its own.
      def self.resolve(host, port, deadline)
        resolver = Thread.new do
          Thread.current.report_on_exception = false
          Addrinfo.getaddrinfo(host, port, nil, :STREAM)
        end
        raise TimeoutFailure, "timeout while resolving the name #{host}" unless resolver.join(deadline.left)

        resolver.value
      rescue SocketError => e
        raise Failure, "the name #{host} cannot be resolved: #{e.message}"
      end

      def self.connect_address(address, deadline)
        socket = Socket.new(address.afamily, Socket::SOCK_STREAM, 0)
        begin
          if socket.connect_nonblock(address, exception: false) == :wait_writable
            deadline.await(socket, :write, 'connecting')
            finish_connect(socket, address)
          end
          socket
        rescue StandardError
          socket.close
          raise
        end
      end

      # The second call tells how the first one ended.
      def self.finish_connect(socket, address)
        socket.connect_nonblock(address)
      rescue Errno::EISCONN
        nil
      end
      private_class_method :connect, :resolve, :connect_address, :finish_connect

      def initialize(socket, deadline)
        @socket = socket
        @io = socket
        @deadline = deadline
        @buffer = String.new(encoding: Encoding::BINARY)
        @bytes_read = 0
      end

      # Begins TLS. Bytes that came before are an error, since no key protects them.
      def start_tls(host, trust)
        raise Failure, 'the server sent bytes before TLS began' unless @buffer.empty?

        @io = OpenSSL::SSL::SSLSocket.new(@socket, trust.context)
        @io.hostname = host unless address?(host)
        handshake
        @io.post_connection_check(host) if trust.verify?
      end

      def write(bytes)
        until bytes.empty?
          case (written = @io.write_nonblock(bytes, exception: false))
          when :wait_readable then await(:read, 'sending')
          when :wait_writable then await(:write, 'sending')
          else bytes = bytes.byteslice(written..-1)
          end
        end
      end

      # Exactly `count` bytes.
      def read(count)
        fill(count - @buffer.bytesize) while @buffer.bytesize < count
        @buffer.slice!(0, count)
      end

      # A line without its end, of at most `length_max` bytes.
      def read_line(length_max)
        until (length = @buffer.index("\n"))
          raise Failure, "the server sent a line of more than #{length_max} bytes" if @buffer.bytesize > length_max

          fill(CHUNK)
        end
        raise Failure, "the server sent a line of more than #{length_max} bytes" if length > length_max

        @buffer.slice!(0, length + 1).chomp
      end

      def close
        @socket.close
      end

      private

      # Reads at most `count` bytes more, so that none is taken that belongs to TLS.
      def fill(count)
        left = BYTES_MAX - @bytes_read
        raise Failure, "the server sent more than #{BYTES_MAX} bytes" unless left.positive?

        case (bytes = @io.read_nonblock([count, left].min, exception: false))
        when :wait_readable then await(:read, 'waiting for an answer')
        when :wait_writable then await(:write, 'waiting for an answer')
        when nil then raise Failure, 'the server closed the connection before it answered'
        else
          @bytes_read += bytes.bytesize
          @buffer << bytes
        end
        raise TimeoutFailure, 'timeout while waiting for an answer' if @deadline.passed?
      end

      def handshake
        loop do
          case @io.connect_nonblock(exception: false)
          when :wait_readable then await(:read, 'beginning TLS')
          when :wait_writable then await(:write, 'beginning TLS')
          else return
          end
          raise TimeoutFailure, 'timeout while beginning TLS' if @deadline.passed?
        end
      end

      def await(direction, action)
        @deadline.await(@socket, direction, action)
      end

      def address?(host)
        IPAddr.new(host)
        true
      rescue IPAddr::Error
        false
      end
    end
  end
end
