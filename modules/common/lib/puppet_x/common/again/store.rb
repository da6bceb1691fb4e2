# frozen_string_literal: true

require 'json'
require 'fileutils'
require 'timeout'
require_relative 'system'

module PuppetX
  module Common
    module Again
      # The files below `<statedir>/again`: requests, and the locks of their users. `docs/convergence.md`
      # describes their format, which `tutti-agent again` reads, too.
      #
      # Invariant: the file of the requests is replaced as a whole, by the holder of the lock only.
      class Store
        FORMAT = 1
        # Size of the largest state: 8 scopes with 64 requests of 1 KiB, 32 KiB of arguments and 8 KiB
        # of variables need 832 KiB.
        MAX_BYTES = 1024 * 1024
        # Seconds to wait for the lock, which is held for the time of one write.
        LOCK_TIMEOUT_S = 30

        attr_reader :directory

        def initialize(directory)
          @directory = directory
        end

        def path(name)
          File.join(@directory, name)
        end

        # Makes the directory, which belongs to this user alone.
        def prepare
          begin
            Dir.mkdir(@directory, 0o700)
          rescue Errno::EEXIST
            nil
          end
          found = File.lstat(@directory)
          raise Error, "#{@directory} is not a directory; remove it" unless found.directory?
          unless found.uid == Process.euid
            raise Error, "#{@directory} belongs to the user #{found.uid}; remove it, or run as that user"
          end

          File.chmod(0o700, @directory) unless (found.mode & 0o077).zero?
        rescue SystemCallError => e
          raise Error, "cannot make #{@directory}: #{e.message}"
        end

        # True if there may be requests.
        def exist?
          File.lstat(path('state.json')) && true
        rescue SystemCallError
          false
        end

        # Gives the state to the block under the lock, and writes it if the block changed it.
        def update
          prepare
          with_lock do
            state = load
            before = JSON.generate(state)
            result = yield rebase(state)
            write(state) unless JSON.generate(state) == before
            result
          end
        end

        # The state, or an empty one if the file is missing or damaged.
        def read
          rebase(load)
        end

        # An open file with a lock of this kind, or nil if another process has it. Closing it, or the end of
        # the process, ends the lock.
        def try_lock(name, kind = File::LOCK_EX)
          file = open_lock(name)
          return file if file.flock(kind | File::LOCK_NB)

          file.close
          nil
        end

        def open_lock(name)
          flags = File::RDWR | File::CREAT | File::NOFOLLOW | File::NONBLOCK
          file = File.open(path(name), flags, 0o600)
          found = file.stat
          return file if found.file? && found.uid == Process.euid

          file.close
          raise Error, "#{path(name)} is not a file; remove it" unless found.file?

          raise Error, "#{path(name)} belongs to the user #{found.uid}; remove it, or run as that user"
        rescue SystemCallError => e
          raise Error, "cannot open #{path(name)}: #{e.message}; remove it if it is not a file"
        end

        # True if the lock is held by another process.
        def locked?(name)
          file = try_lock(name)
          file&.close
          file.nil?
        end

        private

        # The state as it is in the file.
        def load
          text = read_bounded
          return empty unless text

          state = JSON.parse(text, max_nesting: 12)
          valid?(state) ? state : damaged('is not a state of format 1')
        rescue JSON::ParserError, EncodingError => e
          damaged("cannot be read: #{e.message[0, 80].inspect}")
        end

        def with_lock
          file = open_lock('lock')
          begin
            Timeout.timeout(LOCK_TIMEOUT_S) { file.flock(File::LOCK_EX) }
          rescue Timeout::Error
            raise Error, "#{path('lock')} is held by another process for #{LOCK_TIMEOUT_S} seconds; " \
                         'end that process (`fuser` names it)'
          end
          yield
        ensure
          file&.close
        end

        def read_bounded
          flags = File::RDONLY | File::NOFOLLOW | File::NONBLOCK
          File.open(path('state.json'), flags) do |file|
            found = file.stat
            return damaged('is not a file') && nil unless found.file?
            # Its commands are executed by this user.
            return damaged("belongs to the user #{found.uid}") && nil unless found.uid == Process.euid

            text = file.read(MAX_BYTES + 1) || +''
            return damaged("is larger than #{MAX_BYTES} bytes") && nil if text.bytesize > MAX_BYTES

            text.force_encoding(Encoding::UTF_8)
          end
        rescue Errno::ENOENT
          nil
        rescue Errno::ELOOP, Errno::ENXIO
          damaged('is not a file') && nil
        rescue SystemCallError => e
          raise Error, "cannot read #{path('state.json')}: #{e.message}"
        end

        def damaged(cause)
          Log.warning("#{path('state.json')} #{cause}; its requests are forgotten")
          empty
        end

        def empty
          { 'format' => FORMAT, 'boot_id' => Clock.boot_id, 'scopes' => {} }
        end

        # A new file in the place of the old one, so that a reader and a power cut see one or the other.
        def write(state)
          text = JSON.pretty_generate(state)
          raise Error, "the requests need more than #{MAX_BYTES} bytes; use shorter keys" if text.bytesize > MAX_BYTES

          temporary = path('state.json.new')
          begin
            File.unlink(temporary)
          rescue Errno::ENOENT
            nil
          end
          flags = File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW
          File.open(temporary, flags, 0o600) do |file|
            file.write(text, "\n")
            file.fsync
          end
          File.rename(temporary, path('state.json'))
          File.open(@directory, &:fsync)
        rescue SystemCallError => e
          begin
            File.unlink(temporary) if temporary
          rescue SystemCallError
            nil
          end
          raise Error, "cannot write #{path('state.json')}: #{e.message}"
        end

        def valid?(state)
          state.is_a?(Hash) && state['format'] == FORMAT && state['boot_id'].is_a?(String) &&
            valid_runs?(state['runs']) && state['scopes'].is_a?(Hash) &&
            state['scopes'].all? { |_, scope| valid_scope?(scope) }
        end

        def valid_runs?(runs)
          runs.nil? || (runs.is_a?(Array) && runs.all? { |it| valid_run?(it) })
        end

        # A process; empty after a new start of the machine.
        def valid_run?(run)
          run.is_a?(Hash) && (run['pid'].nil? || run['pid'].is_a?(Integer)) &&
            (run['start'].nil? || number?(run['start']))
        end

        def valid_scope?(scope)
          scope.is_a?(Hash) && scope['origin'].is_a?(Hash) && valid_origin?(scope['origin']) &&
            scope['reruns'].is_a?(Integer) && scope['reruns'] >= 0 && valid_run?(scope.fetch('run', {})) &&
            scope['requests'].is_a?(Hash) &&
            scope['requests'].all? { |_, request| valid_request?(request) }
        end

        def valid_origin?(origin)
          %w[kind environment directory].all? { |name| origin[name].is_a?(String) } &&
            %w[program arguments].all? { |name| strings?(origin[name]) } && !origin['program'].empty? &&
            valid_run?(origin.fetch('daemon', {})) && texts?(origin['settings']) && texts?(origin.fetch('variables', {}))
        end

        def texts?(value)
          value.is_a?(Hash) && value.all? { |_, text| text.is_a?(String) }
        end

        def strings?(value)
          value.is_a?(Array) && value.all?(String)
        end

        def valid_request?(request)
          request.is_a?(Hash) && valid_run?(request['run']) && (request['due'].nil? || number?(request['due'])) &&
            %w[delta wait jitter max_delay max_runs due_at].all? { |name| number?(request[name]) }
        end

        def number?(value)
          value.is_a?(Numeric) && value.to_f.finite? && value >= 0 && value < 1e12
        end

        # Moves the times of requests that were made before the machine started again. One that was due before that
        # start is due since then, so that the first run satisfies it.
        def rebase(state)
          return state if state['boot_id'] == Clock.boot_id

          state['scopes'].each_value do |scope|
            scope['requests'].each_value do |request|
              left = request['due_at'] - Time.now.to_f
              request['due'] = [Clock.now + [left, request['wait']].min, 0].max
              request['run'] = {}
            end
          end
          state.delete('runs')
          state['boot_id'] = Clock.boot_id
          state
        end
      end
    end
  end
end
