# frozen_string_literal: true

require_relative 'deadline'
require_relative 'failure'

module PuppetX
  module Availability
    # Attempts to use a service, repeated until one succeeds or the time is over. The result is `nil`, or a message
    # with the place, the cause and the next step.
    class Check
      # Shortest limit of one attempt, in seconds. An attempt gets a third of `timeout` if that is longer, so a server
      # that accepts connections and does not answer leaves time for others.
      ATTEMPT_S = 10
      # Part of `timeout` for one attempt.
      ATTEMPT_PART = 3

      def initialize(attributes, is_noop, log)
        @attributes = attributes
        @is_noop = is_noop
        @log = log
      end

      # Calls the block with the deadline of each attempt; it raises `Failure`. A run in noop mode does not wait: there
      # is one attempt.
      def run(place, &attempt)
        timeout = @attributes.timeout
        interval = @attributes.ping_interval
        limit = Deadline.new(timeout)
        attempts = 0
        cause = nil
        loop do
          attempts += 1
          failure = failure_of(timeout, limit, &attempt)
          return report_success(attempts) unless failure

          # The end of the whole time tells less than the cause of an earlier attempt.
          cause = failure.message unless cause && limit.passed? && failure.is_a?(TimeoutFailure)
          return explain(place, cause, timeout, attempts) if @is_noop || limit.left <= interval

          @log.info("#{place} is not available yet (#{cause}); waiting for up to #{seconds(timeout)}") if attempts == 1
          sleep(interval)
        end
      end

      private

      def failure_of(timeout, limit)
        yield Deadline.new([ATTEMPT_S, timeout / ATTEMPT_PART].max, limit)
        nil
      rescue Failure => e
        e
      end

      def report_success(attempts)
        @log.info("available at attempt #{attempts}") if attempts > 1
        nil
      end

      def explain(place, cause, timeout, attempts)
        count = attempts == 1 ? '1 attempt' : "#{attempts} attempts"
        tried = @is_noop ? 'at the only attempt of a noop run' : "after #{count} in #{seconds(timeout)}"
        "#{place} is not available #{tried}: #{cause}. Make it available to this node and run Puppet again, " \
          'or set a longer `timeout`'
      end

      def seconds(number)
        format('%g s', number)
      end
    end
  end
end
