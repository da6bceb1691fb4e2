# frozen_string_literal: true

require 'puppet/provider/exec'
require 'shellwords'

# Requests another run of Puppet. The command is a line of options; no program is executed.
#
# A provider and not a program, because only the process of the run knows its settings, its arguments and its
# end. A compiler loads this file with the type, so the rest is loaded when a catalog is applied.
Puppet::Type.type(:exec).provide(:again, parent: Puppet::Provider::Exec) do
  desc 'Requests another run of Puppet after this one. Used by the classes `common::again` and
    `common::again::delta`.'

  confine feature: :posix

  # Option of the command, and the conversion of its value.
  const_set(:OPTIONS, {
    'key' => ->(text) { text },
    'delta' => ->(text) { Integer(text, 10) },
    'start-timer-now' => ->(text) { text == 'true' },
    'max-runs' => ->(text) { Integer(text, 10) },
    'max-delay' => ->(text) { Integer(text, 10) },
    'jitter' => ->(text) { Float(text) }
  }.freeze)

  # Called once in a run that has such a resource, whether it is notified or not.
  def self.prefetch(resources)
    requester(resources.each_value.first).begin_run
  rescue StandardError => e
    # The catalog is applied all the same.
    Puppet.warning "again: #{e.message}"
  end

  # One for each catalog, since a process may apply several.
  def self.requester(resource)
    require_relative '../../../puppet_x/common/again/requester'
    catalog = resource.catalog
    @requester = nil unless @catalog.equal?(catalog)
    @catalog = catalog
    @requester ||= PuppetX::Common::Again::Requester.new(
      PuppetX::Common::Again::Origin.new(catalog.environment)
    )
  end

  def validatecmd(command)
    options(command)
  end

  def checkexe(command); end

  def run(command, check = false)
    raise Puppet::Error, 'the provider again makes requests, and checks nothing' if check

    options = options(command)
    level, message = self.class.requester(resource).request(options.delete(:key), options)
    resource.public_send(level, message)
    output = Puppet::Util::Execution::ProcessOutput.new('', 0)
    [output, output]
  rescue SystemCallError, IOError => e
    raise Puppet::Error, "no rerun is requested: #{e.message}"
  end

  private

  def options(command)
    words = Shellwords.split(command.to_s)
    raise Puppet::Error, 'the command of this provider is `again --OPTION VALUE …`' unless words.shift == 'again'

    given = words.each_slice(2).to_h do |name, value|
      convert = self.class::OPTIONS[name.delete_prefix('--')]
      raise Puppet::Error, "#{name} is not an option of again" unless convert && value

      [name.delete_prefix('--').tr('-', '_').to_sym, convert.call(value)]
    end
    self.class.check_options(given)
  rescue ArgumentError => e
    raise Puppet::Error, "the command #{command.to_s[0, 200].inspect} is not valid: #{e.message}"
  end

  def self.check_options(given)
    defaults = { key: 'again', delta: 0, start_timer_now: false, max_runs: 10, max_delay: 1800, jitter: 0.5 }
    options = defaults.merge(given)
    ranges = { delta: 0..2_592_000, max_runs: 1..1000, max_delay: 0..2_592_000, jitter: 0.0..10.0 }
    ranges.each do |name, range|
      raise Puppet::Error, "#{name} must be between #{range.min} and #{range.max}" unless range.cover?(options[name])
    end
    raise Puppet::Error, 'a key has at least one character' if options[:key].empty?

    options
  end
end
