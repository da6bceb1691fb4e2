# frozen_string_literal: true

module PuppetX
  module Availability
    # A reason for which a service is not available. Its message is a cause without the place.
    class Failure < StandardError; end

    # The deadline has passed.
    class TimeoutFailure < Failure; end

    # An attribute that no attempt can succeed with.
    class InvalidAttribute < StandardError; end

    # Text that a server sent, in a form for messages and logs.
    module ForeignText
      # Longest text in a message, in characters.
      LENGTH_MAX = 200

      def self.clean(bytes)
        text = bytes.to_s.dup.force_encoding(Encoding::UTF_8).scrub('?')
        text = text.gsub(/[^[:print:]]/, ' ').strip
        text.length > LENGTH_MAX ? "#{text[0, LENGTH_MAX]}…" : text
      end
    end
  end
end
