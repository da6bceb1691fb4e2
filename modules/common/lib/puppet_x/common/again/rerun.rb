# frozen_string_literal: true

require 'json'
require_relative 'requests'
require_relative 'store'

module PuppetX
  module Common
    module Again
      # One rerun: a child process, or a signal to the daemon.
      #
      # Invariant: `outcome` is known only after the run has ended.
      class Rerun
        # Search path if the first run had none, as in a bare environment.
        PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
        # Seconds in which a daemon starts its run. It looks for signals every 5 seconds; more is a machine under load.
        DAEMON_START_S = 60
        # Seconds between two looks at the lock of a daemon's run, which plain Ruby cannot await: at most 60 looks,
        # and fewer if the run itself sends the signal.
        LOOK_INTERVAL_S = 1
        # Seconds after which a process that holds Puppet's lock is examined again.
        HOLDER_CHECK_S = 600
        # Size of a lock file, of a reason for disabling, and of a summary.
        MAX_FILE_BYTES = 64 * 1024

        def initialize(origin, wake)
          @origin = origin
          @wake = wake
        end

        def agent?
          @origin['kind'] != 'apply'
        end

        # The message of the administrator who disabled Puppet; nil if it is enabled.
        def explain_disabled
          path = setting('agent_disabled_lockfile')
          return nil unless path && File.exist?(path)

          reason = JSON.parse(text(path))['disabled_message']
          reason.to_s.empty? ? 'without a reason' : reason.to_s[0, 200]
        rescue JSON::ParserError, SystemCallError, TypeError, NoMethodError
          'without a reason'
        end

        # The process that runs the agent now; nil if there is none.
        def find_holder
          path = setting('agent_catalog_run_lockfile')
          pid = path && Integer(text(path).strip, 10)
          pid && Processes.alive?(pid) && Processes.puppet?(pid) ? pid : nil
        rescue SystemCallError, ArgumentError
          nil
        end

        # Waits for the end of another run. True if the signal came first.
        def await_holder
          while (pid = find_holder)
            ended = Processes.await_end(pid, @wake, HOLDER_CHECK_S)
            return true unless ended || !find_holder
          end
          false
        end

        # Runs Puppet. True if a run was done, and a text about it. The block gives the start of the last run
        # that the module noted.
        def perform(launch, &noted)
          daemon = @origin['kind'] == 'daemon' ? find_daemon : nil
          daemon ? signal(daemon, launch, &noted) : start
        end

        private

        def setting(name)
          @origin['settings'][name]
        end

        def text(path)
          File.open(path, File::RDONLY | File::NONBLOCK) { |file| file.read(MAX_FILE_BYTES) || '' }
        end

        def start
          # The variables of this process are those of the run that has started it.
          variables = { 'PATH' => PATH }.merge(@origin['variables'] || {})
          directory = File.directory?(@origin['directory']) ? @origin['directory'] : '/'
          pid = Process.spawn(variables, *@origin['program'], *@origin['arguments'],
                              unsetenv_others: true, in: File::NULL, out: File::NULL, err: File::NULL,
                              chdir: directory, close_others: true)
          _, status = Process.wait2(pid)
          verdict(status)
        rescue SystemCallError => e
          [false, "failed to start: #{e.message}"]
        end

        def verdict(status)
          case status.exitstatus
          when 0 then [true, 'unchanged']
          when 2 then [true, 'changed']
          when 4, 6 then [true, 'changed, with failed resources']
          else other_run(status)
          end
        end

        # Puppet ends at once if another run began since the lock was looked at. If that run satisfies the requests,
        # it has removed them itself. It may be of another environment, or change nothing (`--noop`).
        def other_run(status)
          return [false, "failed: #{status.to_s.sub(/\Apid \d+ /, '')}"] unless agent? && find_holder

          nil while await_holder
          [false, 'not run: another run of the agent was in progress']
        end

        # The daemon that made the request, or the one that has replaced it.
        def find_daemon
          daemon = @origin['daemon'] || {}
          return daemon['pid'] if daemon['start'] && Processes.alive?(daemon['pid'], daemon['start'])

          pid = Integer(text(setting('pidfile')).strip, 10)
          pid if Processes.alive?(pid) && Processes.puppet?(pid)
        rescue SystemCallError, ArgumentError, TypeError
          nil
        end

        def signal(daemon, launch, &noted)
          summary = identify_summary
          Process.kill('USR1', daemon)
          return [false, 'failed: the daemon started no run'] unless await_start(launch, summary, &noted)

          # The run itself wakes this process when it requests something.
          nil while await_holder
          return [true, 'done by the daemon'] if began?(launch, &noted)
          return [true, 'done by the daemon'] if identify_summary != summary && applied?

          [false, 'failed: the run of the daemon applied no catalog']
        rescue Errno::ESRCH
          start
        rescue SystemCallError => e
          [false, "failed to tell the daemon to run: #{e.message}"]
        end

        def await_start(launch, summary, &noted)
          deadline = Clock.now + DAEMON_START_S
          while Clock.now < deadline
            return true if find_holder || began?(launch, &noted) || identify_summary != summary

            @wake.wait(LOOK_INTERVAL_S)
          end
          false
        end

        def began?(launch)
          start = yield
          !start.nil? && start >= launch
        end

        # Distinguishes the summary of the last run from the next one, which replaces its file; nil if there is none.
        def identify_summary
          found = File.stat(setting('lastrunfile'))
          [found.ino, found.mtime]
        rescue SystemCallError, TypeError
          nil
        end

        # True if the summary of the last run has resources, which that of a run without a catalog has not.
        def applied?
          text(setting('lastrunfile')).match?(/^resources:\n(?:  .*\n)*?  total: [1-9]/)
        rescue SystemCallError, TypeError
          false
        end
      end
    end
  end
end
