# frozen_string_literal: true

require 'openssl'
require_relative 'failure'

module PuppetX
  module Availability
    # The certificates of servers that are accepted.
    class Trust
      # `verify`: `puppet` for certificates of Puppet's CA, `system` for those that the operating system trusts, the
      # absolute path of a file with CA certificates, or `none`.
      def initialize(verify)
        @verify = verify.to_s
      end

      def verify?
        @verify != 'none'
      end

      def context
        context = OpenSSL::SSL::SSLContext.new
        context.min_version = OpenSSL::SSL::TLS1_2_VERSION
        context.verify_mode = verify? ? OpenSSL::SSL::VERIFY_PEER : OpenSSL::SSL::VERIFY_NONE
        context.cert_store = store if verify?
        context
      end

      private

      def store
        store = OpenSSL::X509::Store.new
        case @verify
        when 'system' then store.set_default_paths
        else add(store, @verify == 'puppet' ? Puppet[:localcacert] : @verify)
        end
        store
      end

      def add(store, file)
        store.add_file(file)
      rescue OpenSSL::X509::StoreError => e
        raise Failure, "the CA certificates in #{file} cannot be read: #{e.message}"
      end
    end
  end
end
