# frozen_string_literal: true

require_relative 'failure'

module PuppetX
  module Availability
    # A point in time by the clock that is never set. Nothing that takes one waits longer.
    class Deadline
      def self.now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # `seconds` from now, and not after `limit`.
      def initialize(seconds, limit = nil)
        at = self.class.now + seconds
        @at = limit ? [at, limit.at].min : at
      end

      attr_reader :at

      # Seconds that are left, 0 after the deadline.
      def left
        [@at - self.class.now, 0].max
      end

      def passed?
        left.zero?
      end

      # Waits until `io` can be read or written.
      def await(io, direction, action)
        ready = direction == :read ? [[io], nil] : [nil, [io]]
        raise TimeoutFailure, "timeout while #{action}" unless IO.select(*ready, nil, left)
      end
    end
  end
end
