# frozen_string_literal: true

require 'digest'
require 'etc'
require 'rbconfig'
require_relative 'system'

module PuppetX
  module Common
    module Again
      # The run of Puppet that this process does: how it was started, and how it can be started again.
      #
      # Invariant: paths and settings are those of this process, never guessed.
      class Origin
        # Size of the arguments that are kept.
        MAX_ARGUMENT_BYTES = 32 * 1024
        # Variables of a rerun: those that programs, connections, facts and Ruby itself depend on.
        VARIABLES = /\A(?:PATH|HOME|USER|LOGNAME|LANG|LC_\w+|(?i:\w+_proxy)|SSL_CERT_(?:FILE|DIR)|FACTER_\w+|
                     RUBYLIB|RUBYOPT|GEM_HOME|GEM_PATH|BUNDLE_GEMFILE)\z/x.freeze
        # Size of the variables that are kept. Further ones are left out.
        MAX_VARIABLE_BYTES = 8 * 1024
        # Settings that the waiter needs.
        AGENT_SETTINGS = %w[agent_catalog_run_lockfile agent_disabled_lockfile lastrunfile pidfile].freeze
        # Options of a rerun of the agent, and those that they replace.
        SINGLE_RUN = %w[--onetime --no-daemonize --no-splay --detailed-exitcodes].freeze
        REPLACED = %w[-o -D --daemonize --splay].freeze
        # Options with a value that a job gives to its own run.
        JOB_OPTIONS = %w[--job-id --lastrunreport].freeze

        def initialize(environment, argv: ARGV, program: $PROGRAM_NAME)
          @environment = environment.to_s
          # With LANG=C, as under cron, Ruby takes them for ASCII.
          @argv = argv.map { |word| word.dup.force_encoding(Encoding::UTF_8) }
          @program = program
        end

        # `agent`, `daemon` (an agent that goes on after this run), or `apply`; nil for other programs.
        def kind
          case @argv.first
          when 'agent' then Puppet[:onetime] ? 'agent' : 'daemon'
          when 'apply' then 'apply'
          end
        end

        # The reason for which nothing is requested although the resource was notified; nil if there is none.
        def obstacle
          return 'this run changes nothing (noop)' if Puppet[:noop]
          return 'only runs of `puppet agent` and `puppet apply` can be repeated' unless kind

          nil
        end

        # Raises an error if this run cannot be repeated, although it should be.
        def check
          if @argv.sum(&:bytesize) > MAX_ARGUMENT_BYTES
            raise Error, "the arguments of Puppet are longer than #{MAX_ARGUMENT_BYTES} bytes; put the code into a file"
          end
          unless @argv.all?(&:valid_encoding?)
            raise Error, 'the arguments of Puppet are not UTF-8; rename the files that they name'
          end
          return unless kind == 'apply' && from_standard_input?

          raise Error, 'a manifest or catalog from standard input cannot be applied again; put it into a file'
        end

        # Runs with one name satisfy the same requests. A run of some tags cannot tell whether the others have
        # converged, so it has a name of its own.
        def scope
          words = kind == 'apply' ? [directory, *arguments] : []
          words += selection unless selection.all?(&:empty?)
          name = "#{kind == 'apply' ? 'apply' : 'agent'} #{@environment}"
          words.empty? ? name : "#{name} #{Digest::SHA256.hexdigest(words.join("\0"))[0, 12]}"
        end

        def to_h
          origin = {
            'kind' => kind, 'environment' => @environment, 'directory' => directory,
            'program' => [RbConfig.ruby, program_path], 'arguments' => arguments, 'variables' => variables,
            'settings' => kind == 'apply' ? {} : AGENT_SETTINGS.to_h { |it| [it, Puppet[it.to_sym].to_s] }
          }
          origin['daemon'] = process(Process.ppid) if kind == 'daemon'
          origin
        end

        # This process, which is the run.
        def run
          process(Process.pid)
        end

        private

        def variables
          size = 0
          found = ENV.to_h.transform_values { |it| it.dup.force_encoding(Encoding::UTF_8) }
          found.select do |name, value|
            next unless name.match?(VARIABLES) && value.valid_encoding?

            length = name.bytesize + value.bytesize
            (size + length <= MAX_VARIABLE_BYTES).tap { |fits| size += length if fits }
          end
        end

        # Tags to which the run is limited, and those that it leaves out.
        def selection
          [Puppet[:tags], Puppet[:skip_tags]].map do |tags|
            Array(tags).flat_map { |it| it.to_s.split(',') }.map(&:strip).reject(&:empty?).uniq.sort.join(',')
          end
        end

        # The directory to which relative paths in the arguments refer.
        def directory
          path = Dir.pwd.force_encoding(Encoding::UTF_8)
          path.valid_encoding? ? path : '/'
        rescue SystemCallError
          '/'
        end

        def process(pid)
          { 'pid' => pid, 'start' => Processes.start_of(pid) }.compact
        end

        # The file that Ruby was started with. `$PROGRAM_NAME` is another text in the runs of a daemon.
        def program_path
          loaded = caller_locations.map(&:absolute_path).compact
          paths = [loaded.reverse.find { |it| File.basename(it) == 'puppet' }, @program,
                   File.join(RbConfig::CONFIG['bindir'], 'puppet')]
          path = paths.compact.find { |it| File.file?(it) }
          path || raise(Error, 'the program `puppet` that runs is not found; start it with its absolute path')
          File.expand_path(path)
        end

        # Arguments of a single run in the foreground, with the exit codes that tell its outcome. Those of a rerun
        # are the same.
        def arguments
          words = without_job
          added = kind == 'apply' ? %w[--detailed-exitcodes] : SINGLE_RUN
          removed = kind == 'apply' ? added : added + REPLACED
          words.reject { |it| removed.include?(it) } + log_destination(words) + added
        end

        # A rerun has no terminal. Without a destination of its own, the output of `--test` would be lost.
        def log_destination(words)
          return [] unless Puppet[:logdest].to_s.empty?

          words.any? { |it| it.start_with?('-l', '--logdest') } ? [] : %w[--logdest syslog]
        end

        # A rerun is not a part of the job that started this run, and needs a catalog with new facts.
        def without_job
          words = []
          skip = false
          @argv.each do |word|
            name, value = word.split('=', 2)
            name = name.to_s.tr('_', '-')
            if skip
              skip = false
            elsif JOB_OPTIONS.include?(name)
              skip = value.nil?
            else
              words << word unless name == '--use-cached-catalog'
            end
          end
          words
        end

        def from_standard_input?
          return true if @argv.each_cons(2).any? { |name, value| name == '--catalog' && value == '-' }
          return true if @argv.include?('--catalog=-')

          executed = @argv.any? { |it| it.start_with?('-e', '--execute') }
          !executed && !Puppet[:code].to_s.empty?
        end
      end
    end
  end
end
