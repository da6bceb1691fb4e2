# frozen_string_literal: true

require_relative 'attributes'
require_relative 'check'

module PuppetX
  module Availability
    # The methods of a provider: a service that is not available is absent, and cannot be created.
    module Provider
      # Begin of the tag of a capability in the catalog of the node that produces it.
      PRODUCER = 'producer:'

      def exists?
        return true if produced_here?

        @failure = find_failure
        # Without a change, nothing would show the cause.
        resource.warning(@failure) if @failure && resource.noop?
        @failure.nil?
      end

      def create
        raise Puppet::Error, @failure
      end

      private

      def produced_here?
        resource.tags.any? { |tag| tag.to_s.start_with?(PRODUCER) }
      end

      def find_failure
        attributes = Attributes.new(resource)
        probe = probe(attributes)
        check = Check.new(attributes, resource.noop?, resource)
        check.run(probe.place) { |deadline| probe.attempt(deadline) }
      rescue InvalidAttribute => e
        "#{resource.ref} #{e.message}"
      end
    end
  end
end
