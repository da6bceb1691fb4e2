# frozen_string_literal: true

require 'digest'
require_relative 'failure'
require_relative 'scram'

module PuppetX
  module Availability
    # Answers the requests of a server that authenticates a user of PostgreSQL. The password is in no message, and is sent
    # in clear text with TLS only.
    class PostgresAuthentication
      OK = 0
      CLEARTEXT = 3
      MD5 = 5
      SASL = 10
      SASL_CONTINUE = 11
      SASL_FINAL = 12

      def initialize(messages, user, password, is_tls)
        @messages = messages
        @user = user
        @password = password
        @is_tls = is_tls
        @is_complete = false
      end

      def complete?
        @is_complete
      end

      # `:asks` if the server wants a password and there is none.
      def answer(body)
        raise Failure, 'the server does not answer as PostgreSQL does' if body.bytesize < 4

        request = body.unpack1('N')
        return accept if request == OK
        return :asks if @password.nil?

        reply(request, body.byteslice(4..-1))
      end

      private

      # A server that begins SCRAM must prove that it knows the password, too.
      def accept
        raise Failure, 'the server ended SCRAM without its proof' if @scram && !@scram.verified?

        @is_complete = true
      end

      def reply(request, data)
        case request
        when CLEARTEXT then send_cleartext
        when MD5 then @messages.send('p', "#{md5(data.byteslice(0, 4))}\0")
        when SASL then begin_scram(data)
        when SASL_CONTINUE then @messages.send('p', scram.answer(data))
        when SASL_FINAL then scram.verify(data)
        else raise Failure, "the server wants authentication by a method that the check has not (#{request})"
        end
      end

      def send_cleartext
        unless @is_tls
          raise Failure, "the server asks for the password of #{@user} in clear text, and it is not sent without TLS; " \
                         'set `ssl` to true, or the method scram-sha-256 in the server\'s pg_hba.conf'
        end

        @messages.send('p', "#{@password}\0")
      end

      def md5(salt)
        "md5#{Digest::MD5.hexdigest(Digest::MD5.hexdigest(@password.b + @user.b) + salt)}"
      end

      def begin_scram(data)
        unless data.split("\0").include?(Scram::NAME)
          raise Failure, "the server does not offer #{Scram::NAME}"
        end

        @scram = Scram.new(@password)
        first = @scram.first_message
        @messages.send('p', "#{Scram::NAME}\0".b + [first.bytesize].pack('N') + first)
      end

      def scram
        @scram || raise(Failure, 'the server does not answer as PostgreSQL does')
      end
    end
  end
end
