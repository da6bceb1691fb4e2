# frozen_string_literal: true

# Clock, processes and log of this machine. No class here knows Puppet.
module PuppetX
  module Common
    module Again
      # Cause, place and next step of a request that cannot be made or kept.
      class Error < StandardError; end

      # Seconds since the machine started, which no change of its date moves.
      module Clock
        SOURCE = defined?(Process::CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC
        BOOT_ID = '/proc/sys/kernel/random/boot_id'

        def self.now
          Process.clock_gettime(SOURCE)
        end

        # Distinguishes the starts of the machine. Empty where the kernel has no such id.
        def self.boot_id
          File.read(BOOT_ID).strip
        rescue SystemCallError
          ''
        end
      end

      # Processes, named by their id and their start, because ids are used again.
      module Processes
        # `pidfd_open` has this number on every architecture of Linux.
        PIDFD_OPEN = 434
        # Seconds between two checks of a process that is neither a child nor offered as a descriptor by the
        # kernel (Linux before 5.3, other systems): 30 checks in a minute, each one `kill(pid, 0)`.
        CHECK_INTERVAL_S = 2

        # Start of a process in seconds since the machine started; nil if it ended or the system does not say.
        def self.start_of(pid)
          text = File.read("/proc/#{Integer(pid)}/stat")
          # The name in parentheses may contain spaces and parentheses.
          fields = text[(text.rindex(')') + 2)..].split
          return nil if %w[Z X].include?(fields[0])

          fields[19].to_f / Etc.sysconf(Etc::SC_CLK_TCK)
        rescue SystemCallError, ArgumentError, TypeError
          nil
        end

        # True while the process with this id and this start runs. Without a start, any process counts.
        def self.alive?(pid, start = nil)
          return false unless pid.is_a?(Integer) && pid.positive?

          Process.kill(0, pid)
          found = start_of(pid)
          return !File.directory?('/proc/self') if found.nil?

          start.nil? || (found - start).abs < 0.05
        rescue Errno::ESRCH, RangeError
          false
        rescue Errno::EPERM
          true
        end

        # Puppet's own rule for locks: a Ruby process with `puppet` among its arguments, or a program of that
        # name. True if the system does not say.
        def self.puppet?(pid)
          return true unless File.directory?('/proc/self')

          name = File.binread("/proc/#{pid}/comm").strip
          return true if name.match?(/puppet(-.*)?\z/)

          name.include?('ruby') && File.binread("/proc/#{pid}/cmdline").include?('puppet')
        rescue SystemCallError
          false
        end

        # Waits until a process ends, the wake-up arrives, or the time is over. True if the process ended.
        def self.await_end(pid, wake, timeout)
          descriptor = descriptor(pid)
          return true if descriptor == :ended
          return await_by_checks(pid, wake, timeout) unless descriptor

          ready, = IO.select([descriptor, wake.reader], nil, nil, timeout)
          wake.drain
          !ready.nil? && ready.include?(descriptor)
        ensure
          descriptor.close if descriptor.is_a?(IO)
        end

        # A descriptor that is readable when the process has ended; nil if the kernel has none.
        def self.descriptor(pid)
          IO.for_fd(Kernel.syscall(PIDFD_OPEN, pid, 0))
        rescue Errno::ESRCH
          :ended
        rescue SystemCallError, NotImplementedError, ArgumentError
          nil
        end

        def self.await_by_checks(pid, wake, timeout)
          deadline = Clock.now + timeout
          while alive?(pid)
            left = deadline - Clock.now
            return false if left <= 0 || wake.wait([left, CHECK_INTERVAL_S].min)
          end
          true
        end
        private_class_method :descriptor, :await_by_checks
      end

      # The signal that lets a waiter look at its requests again.
      class Wake
        SIGNAL = 'USR1'

        attr_reader :reader

        def initialize
          @reader, @writer = IO.pipe
          Signal.trap(SIGNAL) do
            begin
              @writer.write_nonblock('.')
            rescue IO::WaitWritable, Errno::EPIPE
              nil
            end
          end
        end

        # True if the signal came within this time.
        def wait(seconds)
          ready, = IO.select([@reader], nil, nil, [seconds, 0].max)
          drain
          !ready.nil?
        end

        def drain
          loop { @reader.read_nonblock(4096) }
        rescue IO::WaitReadable, EOFError
          nil
        end
      end

      # Messages of the waiter, which has no terminal.
      module Log
        def self.info(message)
          write(:info, message)
        end

        def self.warning(message)
          write(:warning, message)
        end

        def self.write(level, message)
          require 'syslog'
          Syslog.open('puppet-again', Syslog::LOG_PID, Syslog::LOG_DAEMON) unless Syslog.opened?
          Syslog.public_send(level, '%s', message)
        rescue LoadError, StandardError
          # Without syslog the outcome is in the state only, where `tutti-agent again list` reads it.
          nil
        end
        private_class_method :write
      end
    end
  end
end

require 'etc'
