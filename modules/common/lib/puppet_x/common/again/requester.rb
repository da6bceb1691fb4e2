# frozen_string_literal: true

require 'digest'
require 'fileutils'
require 'json'
require 'rbconfig'
require 'shellwords'
require 'timeout'
require_relative 'origin'
require_relative 'requests'
require_relative 'store'

module PuppetX
  module Common
    module Again
      # Requests of the run of Puppet that this process does, and the start of their waiter.
      class Requester
        WAITER = File.expand_path('waiter.rb', __dir__)
        # Seconds in which a waiter starts; Ruby needs 0.1, and a loaded machine a hundred times as long.
        START_TIMEOUT_S = 20
        SYSTEMD_RUN = '/usr/bin/systemd-run'
        # Exists where systemd runs.
        SYSTEMD = '/run/systemd/system'
        # Names the file of requests that are for the orchestrator of this run, which repeats it with others.
        REPORTED = 'TUTTI_RERUN_REQUESTS'
        # Written by the terminus `direct_puppet`, which sends no facts while it is recent. A rerun is for new facts.
        RECENT_RUN = 'direct_puppet.json'
        # Bytes of a key as it is shown. A longer one ends in its hash.
        MAX_KEY_BYTES = 200

        def initialize(origin, directory: File.expand_path('again', Puppet[:statedir]))
          @origin = origin
          @store = Store.new(directory)
          @done = {}
        end

        # Notes that this run applies a catalog. Nothing is written if no run has requested anything.
        def begin_run
          return unless @store.exist? && @origin.obstacle.nil?

          taken = {}
          pending = @store.update do |state|
            Requests.begin_run(state, @origin.scope, @origin.run)
            taken = Requests.take(state, @origin.scope) if reported
            # The waiter waits for the end of any run, also of one that satisfies nothing.
            Requests.any?(state) && Requests.note_run(state, @origin.run)
          end
          # What an earlier run left to this node is now for the orchestrator: no rerun comes between its runs.
          taken.each { |key, delta| append(key, delta) }
          ensure_waiter if pending
        end

        # Requests a rerun. Gives the level of a message, and the message.
        def request(key, options)
          obstacle = @origin.obstacle
          return [:notice, "no rerun is requested: #{obstacle}"] if obstacle

          # A run may notify a resource thousands of times. Of requests with one key, the last one counts.
          known = @done[key]
          return known.last if known && known.first == options

          message = reported ? report(key, options) : add_checked(key, options)
          FileUtils.rm_f(File.join(Puppet[:statedir], RECENT_RUN))
          @done[key] = [options, message]
          message
        end

        private

        # The file of requests for the orchestrator; nil if this run is not the orchestrator's own. Programs that such a
        # run starts have the variable, too; its report is in the directory beside the file.
        def reported
          file = ENV.fetch(REPORTED, '')
          return if file.empty? || @origin.kind != 'agent'

          file if File.dirname(File.dirname(Puppet[:lastrunreport])) == File.dirname(file)
        end

        # Leaves the request to the orchestrator, which reads the file when this run has ended.
        def report(key, options)
          append(display(key), options[:delta])
          @store.update { |state| Requests.mark_requested(state, @origin.scope) } if @store.exist?
          pause = options[:delta].positive? ? ", at least #{options[:delta]} seconds after this run" : ''
          [:notice, "another run is left to the job of this one#{pause}"]
        end

        def append(key, delta)
          request = { 'key' => key, 'delta_s' => delta }
          File.open(reported, File::WRONLY | File::CREAT | File::APPEND | File::NOFOLLOW, 0o600) do |file|
            file.write("#{JSON.generate(request)}\n")
          end
        end

        def add_checked(key, options)
          @origin.check
          @store.prepare
          message(add(key, options), options)
        end

        def add(key, options)
          result = @store.update do |state|
            Requests.note_run(state, @origin.run)
            Requests.add(state, @origin.scope, @origin.to_h, display(key), options, @origin.run)
          end
          ensure_waiter unless result[:refused]
          result
        end

        def message(result, options)
          return [:warning, "no rerun is requested: #{result[:refused]}"] if result[:refused]

          from = options[:start_timer_now] ? 'from now' : 'after the end of this run'
          [:notice, "Puppet will run again #{result[:wait].ceil} seconds #{from} " \
                    "(rerun #{result[:count]} of at most #{options[:max_runs]})"]
        end

        # A key without control characters, and not too long.
        def display(key)
          text = key.dup.force_encoding(Encoding::UTF_8).scrub('?').gsub(/[[:cntrl:]]/, '?')
          return text if text == key && text.bytesize <= MAX_KEY_BYTES

          "#{text.byteslice(0, MAX_KEY_BYTES).scrub('')}…#{Digest::SHA256.hexdigest(key)[0, 12]}"
        end

        # Wakes the waiter, or starts one. Its own lock decides; this lock keeps two runs from starting two.
        def ensure_waiter
          starting = @store.open_lock('start.lock')
          Timeout.timeout(Store::LOCK_TIMEOUT_S) { starting.flock(File::LOCK_EX) }
          return wake if @store.locked?('waiter.lock')

          start(scoped: true) || start(scoped: false) ||
            raise(Error, "the waiter did not start; run `#{command(false).shelljoin}` to see why")
        rescue Timeout::Error
          raise Error, "#{@store.path('start.lock')} is held by another process; end it (`fuser` names it)"
        ensure
          starting&.close
        end

        def wake
          pid = Integer(File.read(@store.path('waiter.lock'), 20).to_s.strip)
          Process.kill(Wake::SIGNAL, pid)
        rescue SystemCallError, ArgumentError
          # It looks at the requests when it starts and before it ends.
          nil
        end

        # Starts a waiter that belongs to no terminal and no service. True if it runs.
        def start(scoped:)
          return false if scoped && !systemd?

          reader, writer = IO.pipe
          pid = Process.spawn(*command(scoped), in: File::NULL, out: writer, err: File::NULL, chdir: '/',
                                                close_others: true)
          writer.close
          answered = Timeout.timeout(START_TIMEOUT_S) { reader.gets(16) }
          Process.wait(pid)
          %W[ready\n busy\n].include?(answered)
        rescue Timeout::Error
          Process.kill('KILL', pid)
          Process.wait(pid)
          false
        rescue SystemCallError
          false
        ensure
          reader&.close
          writer&.close
        end

        def command(scoped)
          waiter = [RbConfig.ruby, '--disable=gems', WAITER, @store.directory]
          return waiter unless scoped

          [SYSTEMD_RUN, '--scope', '--quiet', '--collect', '--slice=system.slice',
           '--description=Reruns of Puppet', '--', *waiter]
        end

        # A scope of its own, because the end of a service or of a session ends its processes.
        def systemd?
          Process.euid.zero? && File.directory?(SYSTEMD) && File.executable?(SYSTEMD_RUN)
        end
      end
    end
  end
end
