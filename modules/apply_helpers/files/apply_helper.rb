# frozen_string_literal: true

# The common part of the tasks that use the library of Puppet or OpenVox on a node: parameters, a
# private directory for everything that Puppet writes, modules that came with the task, and errors.

require 'json'
require 'tmpdir'

module ApplyHelper
  # Settings of puppet.conf that name directories; each is in the private directory.
  DIRECTORIES = %w[confdir vardir codedir logdir rundir publicdir].freeze

  NO_PUPPET = {
    'kind' => 'bolt/apply-error',
    'msg' => "Puppet is not installed on the target, please install it to enable 'apply': install the package " \
             'puppet-agent or openvox-agent, for example with the task `package` or `puppet_agent::install`',
    'details' => {}
  }.freeze

  # Runs the block with the parameters and the environment of the modules, and prints the JSON that it
  # returns. The block returns the output and true for success.
  def self.run
    # Only the result may be on standard output, whatever providers print.
    output = $stdout.dup
    $stdout.reopen($stderr)
    $stdout.sync = true
    result, is_ok = result_of { |params, environment| yield(params, environment) }
    output.write(JSON.generate(as_utf8(result)))
    output.flush
    exit!(is_ok ? 0 : 1)
  end

  # The value with texts that JSON can have. Texts of programs and files may have any bytes.
  def self.as_utf8(value)
    case value
    when Hash then value.to_h { |key, inner| [as_utf8(key), as_utf8(inner)] }
    when Array then value.map { |inner| as_utf8(inner) }
    when String
      text = value.encoding == Encoding::BINARY ? value.dup.force_encoding(Encoding::UTF_8) : value
      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
    else value
    end
  end

  def self.result_of
    params = JSON.parse($stdin.read)
    return [{ '_error' => NO_PUPPET }, false] unless puppet?

    Dir.mktmpdir('puppet-apply-') do |directory|
      environment = start(directory, params)
      scope = { current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment) }
      Puppet.override(scope) { yield(params, environment) }
    end
  rescue StandardError, ScriptError => e
    error = { 'kind' => 'bolt/apply-error', 'msg' => e.message, 'details' => { 'class' => e.class.name } }
    [{ '_error' => error }, false]
  end

  # Loads Puppet; false if this Ruby has none.
  def self.puppet?
    require 'puppet'
    require 'puppet/configurer'
    true
  rescue LoadError => e
    raise unless e.path.to_s.start_with?('puppet')

    false
  end

  # Initializes Puppet with settings of its own, and returns an environment with the given modules.
  def self.start(directory, params)
    Puppet.initialize_settings(DIRECTORIES.flat_map { |name| setting(name, directory) }.compact)
    Puppet[:noop] = params['_noop'] == true
    Puppet[:default_file_terminus] = :file_server
    # Providers of packages and services choose by facts of this node, and there is no server.
    Puppet[:report] = false
    Puppet[:usecacheonfailure] = false
    # A task gets the files of modules in a directory of its own, below which they are as in modules.
    paths = [params['_installdir']].compact
    paths.each { |path| load_directories(path) }
    Puppet::Node::Environment.create(:production, paths)
  end

  # Older versions lack some of the settings.
  def self.setting(name, directory)
    ["--#{name}", File.join(directory, name)] if Puppet.settings.setting(name.to_sym)
  end

  # Makes the code of modules loadable, and their facts known.
  def self.load_directories(modules)
    libraries = Dir.glob(File.join(modules, '*', 'lib'))
    $LOAD_PATH.unshift(*libraries)
    facts = libraries.map { |path| File.join(path, 'facter') }.select { |path| File.directory?(path) }
    Puppet[:factpath] = [*facts, Puppet[:factpath]].join(File::PATH_SEPARATOR) unless facts.empty?
    external = Dir.glob(File.join(modules, '*', 'facts.d'))
    external.each { |path| make_executable(path) }
    Facter.search_external(external) unless external.empty?
  end

  # Extensions of external facts that Facter reads instead of executing them.
  DATA = %w[.txt .yaml .yml .json].freeze

  # Files of tasks are sent without their mode.
  def self.make_executable(directory)
    programs = Dir.glob(File.join(directory, '*')).select { |path| File.file?(path) }
    programs.reject { |path| DATA.include?(File.extname(path)) }.each { |path| File.chmod(0o700, path) }
  rescue SystemCallError
    # the files belong to another user, who made them executable or not
    nil
  end
end
