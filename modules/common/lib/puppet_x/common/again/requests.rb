# frozen_string_literal: true

require_relative 'system'

module PuppetX
  module Common
    module Again
      # Changes of the state, without files and processes.
      #
      # A scope is that which one rerun repeats: the agent in one environment, or one `puppet apply`. Its
      # episode is the sequence of its reruns up to a run that requests nothing.
      #
      # Invariant: a rerun is counted before it starts, and no request exists with more reruns than it allows.
      module Requests
        # First pause. Ten reruns take 5 + 10 + … + 1280 seconds, and the longest pause, 1800: 73 minutes with all
        # pauses, up to 109 with the jitter.
        BASE_DELAY_S = 5
        # Different keys in a scope. A run that uses more waits for the longest of them.
        MAX_REQUESTS = 64
        # Runs at one time that are remembered: one of the agent, and many of `puppet apply`.
        MAX_RUNS = 64
        # Scopes that are remembered: some environments, and some manifests of `puppet apply`.
        MAX_SCOPES = 8

        # Seconds between a run and its `count`-th rerun. Jitter only adds, so that `delta` is a minimum.
        def self.pause(count:, delta:, max_delay:, jitter:, random: Random)
          growing = BASE_DELAY_S * (2**[count - 1, 30].min)
          [delta, [growing, max_delay].min].max * (1 + jitter * random.rand)
        end

        # Notes that a run started. Requests that were due by then are satisfied.
        def self.begin_run(state, name, run)
          scope = state['scopes'][name]
          return unless scope
          # The first run of an episode is written with its first request.
          return if scope['run'] == run || idle?(scope)

          scope['reruns'] = 0 unless scope['requested']
          scope['requested'] = false
          scope['run'] = run
          satisfy(scope, run['start']) if run['start']
        end

        def self.idle?(scope)
          scope['reruns'].zero? && !scope['requested'] && scope['requests'].empty?
        end

        # Removes the requests that a run with this start satisfies.
        def self.satisfy(scope, start)
          scope['requests'].delete_if { |_, request| due?(request, start) }
        end

        # Removes the requests of a scope. Gives the keys with the seconds that are left of their pauses.
        def self.take(state, name)
          scope = state['scopes'][name]
          return {} unless scope

          taken = scope['requests'].transform_values { |it| [(it['due'] || Clock.now) - Clock.now, 0].max.round(3) }
          scope['requests'] = {}
          taken
        end

        # Notes that the run of a scope has requested another one, which is not this node's to start: its episode goes on.
        def self.mark_requested(state, name)
          scope = state['scopes'][name]
          scope['requested'] = true if scope
        end

        # Adds a request, or refuses it with the reason. Gives the number of the rerun and its pause.
        def self.add(state, name, origin, key, options, run)
          scope = scope(state, name, origin)
          scope['requested'] = true
          scope['run'] = run
          count = scope['reruns'] + 1
          if count > options[:max_runs]
            scope['last'] = outcome('exhausted')
            return { refused: "#{scope['reruns']} reruns have not been enough, and max_runs allows no more; the " \
                              'regular runs go on' }
          end
          wait = pause(count: count, **options.slice(:delta, :max_delay, :jitter))
          key = crowded_key(scope, key, wait)
          return { count: count, wait: scope['requests'].values.map { |it| it['wait'] }.max } unless key

          scope['requests'][key] = request(wait, options, run)
          { count: count, wait: wait }
        end

        def self.request(wait, options, run)
          {
            'delta' => options[:delta], 'wait' => wait.round(3), 'jitter' => options[:jitter],
            'max_delay' => options[:max_delay], 'max_runs' => options[:max_runs],
            'due' => options[:start_timer_now] ? (Clock.now + wait).round(3) : nil,
            'due_at' => (Time.now.to_f + wait).round(3), 'requested_at' => Time.now.to_f.round(3), 'run' => run
          }
        end

        # The key under which a request is kept if there are too many others; nil if one of them waits as long.
        def self.crowded_key(scope, key, wait)
          requests = scope['requests']
          return key if requests.key?(key) || requests.size < MAX_REQUESTS

          longest, other = requests.max_by { |_, it| it['wait'] }
          other['wait'] >= wait ? nil : longest
        end

        # Remembers a run that is in progress.
        def self.note_run(state, run)
          others = (state['runs'] || []).select { |it| it != run && Processes.alive?(it['pid'], it['start']) }
          state['runs'] = [*others, run].last(MAX_RUNS)
        end

        # A run that is in progress; nil if there is none.
        def self.find_run(state)
          runs = (state['runs'] || []).dup
          each_request(state) { |request| runs << request['run'] unless request['due'] }
          runs.find { |it| Processes.alive?(it['pid'], it['start']) }
        end

        # Starts the pauses that count from the end of a run that has ended.
        def self.anchor(state)
          each_request(state) do |request|
            run = request['run']
            next if request['due'] || Processes.alive?(run['pid'], run['start'])

            request['due'] = (Clock.now + request['wait']).round(3)
            request['due_at'] = (Time.now.to_f + request['wait']).round(3)
          end
        end

        # The time of the next request, in seconds since the machine started.
        def self.next_due(state)
          dues = []
          each_request(state) { |request| dues << request['due'] if request['due'] }
          dues.min
        end

        def self.unanchored?(state)
          found = false
          each_request(state) { |request| found = true unless request['due'] }
          found
        end

        def self.any?(state)
          state['scopes'].any? { |_, scope| !scope['requests'].empty? }
        end

        # Name and scope of a request that is due.
        def self.due(state)
          state['scopes'].find do |_, scope|
            scope['requests'].any? { |_, request| due?(request, Clock.now) }
          end
        end

        def self.due?(request, time)
          request['due'] && request['due'] <= time
        end

        # Counts a rerun before it starts. Requests that allow no more reruns end instead; false if no other is due.
        def self.count(scope)
          now = Clock.now
          ended = scope['requests'].reject! { |_, it| due?(it, now) && scope['reruns'] >= it['max_runs'] }
          if scope['requests'].none? { |_, it| due?(it, now) }
            scope['last'] = outcome('exhausted') if ended
            return false
          end
          scope['reruns'] += 1
          true
        end

        # The outcome of a rerun. After one that could not be done, its requests wait again, longer, or end.
        def self.finish(scope, launch, done, text)
          scope['last'] = outcome(text)
          return satisfy(scope, launch) if done

          count = scope['reruns'] + 1
          scope['requests'].delete_if { |_, request| due?(request, launch) && count > request['max_runs'] }
          scope['requests'].each_value do |request|
            next unless due?(request, launch)

            options = %w[delta max_delay jitter].to_h { |it| [it.to_sym, request[it]] }
            request['wait'] = pause(count: count, **options).round(3)
            request['due'] = (Clock.now + request['wait']).round(3)
            request['due_at'] = (Time.now.to_f + request['wait']).round(3)
          end
        end

        def self.outcome(text)
          { 'at' => Time.now.to_f.round(3), 'outcome' => text }
        end

        def self.each_request(state, &block)
          state['scopes'].each_value { |scope| scope['requests'].each_value(&block) }
        end

        # The scope with its newest origin. The scopes that have been idle for longest are forgotten.
        def self.scope(state, name, origin)
          scopes = state['scopes']
          scope = scopes.delete(name) || { 'reruns' => 0, 'requested' => false, 'requests' => {} }
          scope['origin'] = origin
          while scopes.size >= MAX_SCOPES
            idle = scopes.find { |_, it| it['requests'].empty? }
            unless idle
              raise Error, "#{MAX_SCOPES} environments or manifests wait for a rerun; " \
                           'cancel one (`tutti-agent again cancel`) or wait'
            end
            scopes.delete(idle.first)
          end
          scopes[name] = scope
        end
        private_class_method :idle?, :due?, :request, :outcome, :crowded_key, :scope, :each_request
      end
    end
  end
end
