# frozen_string_literal: true

require_relative 'rerun'

module PuppetX
  module Common
    module Again
      # The process that waits for the time of each request and runs Puppet. It ends with the last request.
      #
      # Invariant: there is one, because it holds a lock; it gives the lock up under the lock of the state, so
      # no request is made between its last look and its end.
      class Waiter
        # Seconds after which the wait for the end of a run looks again whether its process exists.
        RUN_CHECK_S = 600

        def initialize(directory, answer)
          @store = Store.new(directory)
          @answer = answer
        end

        def run
          @lock = @store.try_lock('waiter.lock')
          return tell('busy') unless @lock

          # A process whose id is in the file gets signals.
          @wake = Wake.new
          @lock.truncate(0)
          @lock.write("#{Process.pid}\n")
          @lock.flush
          tell('ready')
          nil while step
        rescue StandardError => e
          # The requests stay, and the next run that has this module starts a waiter again.
          cause = e.is_a?(Error) ? e.message : "#{e.class}: #{e.message}"
          Log.warning("reruns of Puppet stop: #{cause}")
        end

        private

        def tell(word)
          @answer.sync = true
          @answer.write("#{word}\n")
        rescue Errno::EPIPE
          # The run that has started this process has ended.
          nil
        ensure
          @answer.reopen(File::NULL)
        end

        # One decision and its deed. False at the end.
        def step
          decision, argument = @store.update { |state| decide(state) }
          case decision
          when :end then return false
          when :await_run then Processes.await_end(argument, @wake, RUN_CHECK_S)
          when :sleep then @wake.wait(argument - Clock.now)
          when :rerun then rerun(argument)
          end
          true
        end

        def decide(state)
          Requests.anchor(state)
          unless Requests.any?(state)
            @lock.close
            return :end
          end
          name, = Requests.due(state)
          return [:rerun, name] if name

          run = Requests.find_run(state)
          return [:await_run, run['pid']] if run && Requests.unanchored?(state)

          [:sleep, Requests.next_due(state) || Clock.now]
        end

        def rerun(name)
          origin = @store.read['scopes'].dig(name, 'origin')
          return unless origin

          rerun = Rerun.new(origin, @wake)
          return unless clear?(rerun, name)

          launch = Clock.now
          return unless count(name)

          Log.info("running Puppet again (#{name})")
          done, text = rerun.perform(launch) { last_start(name) }
          Log.info("Puppet has run again (#{name}): #{text}")
          @store.update { |state| finish(state, name, launch, done, text) }
        end

        # True if nothing runs and Puppet is enabled.
        def clear?(rerun, name)
          run = Requests.find_run(@store.read)
          if run
            Processes.await_end(run['pid'], @wake, RUN_CHECK_S)
            return false
          end
          return true unless rerun.agent?
          return await_agent(rerun) if rerun.find_holder

          reason = rerun.explain_disabled
          return true unless reason

          drop(name, "not run: Puppet is disabled (#{reason})")
          false
        end

        def await_agent(rerun)
          rerun.await_holder
          false
        end

        # Requests of a disabled agent end: after it is enabled, the regular runs go on.
        def drop(name, text)
          Log.warning("Puppet is not run again (#{name}): #{text}")
          @store.update { |state| finish(state, name, Clock.now, true, text) }
        end

        # Counts the rerun before it starts. False if the requests have gone meanwhile, or allow no more reruns.
        def count(name)
          @store.update do |state|
            scope = state['scopes'][name]
            scope && Requests.count(scope)
          end
        end

        def last_start(name)
          @store.read['scopes'].dig(name, 'run', 'start')
        end

        def finish(state, name, launch, done, text)
          scope = state['scopes'][name]
          Requests.finish(scope, launch, done, text) if scope
        end
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  answer = $stdout.dup
  # Two forks and a session of its own: no terminal, and no parent that waits.
  exit!(0) if fork
  Process.setsid
  exit!(0) if fork
  $stdout.reopen(File::NULL)
  $PROGRAM_NAME = 'again: waits to run Puppet again'
  PuppetX::Common::Again::Waiter.new(ARGV.fetch(0), answer).run
end
