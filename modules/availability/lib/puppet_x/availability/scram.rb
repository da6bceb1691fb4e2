# frozen_string_literal: true

require 'openssl'
require 'securerandom'
require_relative 'failure'

module PuppetX
  module Availability
    # The client of SCRAM-SHA-256 (RFC 5802 and 7677), without channel binding.
    class Scram
      NAME = 'SCRAM-SHA-256'
      # `n`: the client has no channel binding.
      HEADER = 'n,,'
      # Most iterations that a server may ask for, some 0.3 s. PostgreSQL asks for 4096.
      ITERATIONS_MAX = 600_000
      NONCE_BYTES = 18
      HASH = 'SHA256'
      HASH_BYTES = 32

      def initialize(password, nonce = SecureRandom.base64(NONCE_BYTES))
        @password = prepare(password)
        @nonce = nonce
      end

      # PostgreSQL takes the user of the start, and ignores this one.
      def first_message
        "#{HEADER}#{first_bare}"
      end

      # The last message of the client, with its proof.
      def answer(server_first)
        fields = parse(server_first)
        nonce, iterations = fields['r'].to_s, fields['i'].to_s
        unless nonce.start_with?(@nonce) && nonce.length > @nonce.length
          raise Failure, 'the nonce of the server is not one of this session'
        end
        unless iterations.match?(/\A[1-9]\d{0,6}\z/) && iterations.to_i <= ITERATIONS_MAX
          raise Failure, "the server asks for more than #{ITERATIONS_MAX} iterations of SCRAM, or for none"
        end

        without_proof = "c=#{encode(HEADER)},r=#{nonce}"
        signed = "#{first_bare},#{server_first},#{without_proof}"
        salted = salt(decode(fields['s']), iterations.to_i)
        @server_signature = hmac(hmac(salted, 'Server Key'), signed)
        "#{without_proof},p=#{encode(proof(salted, signed))}"
      end

      # Checks that the server knows the password.
      def verify(server_final)
        found = decode(parse(server_final)['v'])
        unless @server_signature && found == @server_signature
          raise Failure, 'the server does not know the password that it asks for'
        end

        @is_verified = true
      end

      def verified?
        @is_verified == true
      end

      private

      def first_bare
        "n=,r=#{@nonce}"
      end

      def salt(salt, iterations)
        OpenSSL::KDF.pbkdf2_hmac(@password, salt: salt, iterations: iterations, length: HASH_BYTES, hash: HASH)
      end

      def proof(salted, signed)
        key = hmac(salted, 'Client Key')
        signature = hmac(OpenSSL::Digest.digest(HASH, key), signed)
        key.bytes.zip(signature.bytes).map { |one, other| one ^ other }.pack('C*')
      end

      def hmac(key, data)
        OpenSSL::HMAC.digest(HASH, key, data)
      end

      def parse(message)
        message.split(',').map { |field| field.split('=', 2) }.select { |field| field.length == 2 }.to_h
      end

      def encode(bytes)
        [bytes].pack('m0')
      end

      def decode(text)
        text.to_s.unpack1('m0')
      rescue ArgumentError
        raise Failure, 'the server sent a message of SCRAM that is not valid'
      end

      # The password as SASLprep (RFC 4013) writes it; unchanged if it is not UTF-8, as PostgreSQL does.
      def prepare(password)
        text = password.dup.force_encoding(Encoding::UTF_8)
        return password if text.ascii_only? || !text.valid_encoding?

        text = text.gsub(/[\u00AD\u034F\u1806\u180B-\u180D\u200B-\u200D\u2060\uFE00-\uFE0F\uFEFF]/, '')
        text = text.gsub(/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/, ' ')
        text.unicode_normalize(:nfkc)
      end
    end
  end
end
