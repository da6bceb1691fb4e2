# frozen_string_literal: true

# The common part of the tasks that use the library of Puppet or OpenVox on a node: parameters, a
# private directory for everything that Puppet writes, modules that came with the task, and errors.

require 'base64'
require 'fileutils'
require 'json'
require 'stringio'
require 'tmpdir'
require 'zlib'

module ApplyHelper
  # Bytes of all files of modules that a task accepts, unpacked.
  PLUGIN_BYTES_MAX = 256 * 1024 * 1024
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
    output.write(JSON.generate(result))
    output.flush
    exit!(is_ok ? 0 : 1)
  end

  def self.result_of
    params = JSON.parse($stdin.read)
    require 'puppet'
    require 'puppet/configurer'
    Dir.mktmpdir('puppet-apply-') do |directory|
      environment = start(directory, params)
      scope = { current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment) }
      Puppet.override(scope) { yield(params, environment) }
    end
  rescue LoadError => e
    raise unless e.path.to_s.start_with?('puppet')

    [{ '_error' => NO_PUPPET }, false]
  rescue StandardError => e
    error = { 'kind' => 'bolt/apply-error', 'msg' => e.message, 'details' => { 'class' => e.class.name } }
    [{ '_error' => error }, false]
  end

  # Initializes Puppet with settings of its own, and returns an environment with the given modules.
  def self.start(directory, params)
    modules = File.join(directory, 'modules')
    FileUtils.mkdir_p(modules)
    Puppet.initialize_settings(DIRECTORIES.flat_map { |name| setting(name, directory) }.compact)
    Puppet[:noop] = params['_noop'] == true
    Puppet[:default_file_terminus] = :file_server
    # Providers of packages and services choose by facts of this node, and there is no server.
    Puppet[:report] = false
    Puppet[:usecacheonfailure] = false
    unpack(params['plugins'], modules) if params['plugins']
    # A task gets the files of modules in a directory of its own, below which they are as in modules.
    paths = [params['_installdir'], modules].compact
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
    Facter.search_external(external) unless external.empty?
  end

  # Unpacks a compressed tar archive, given in Base64, below the directory.
  def self.unpack(archive, directory)
    require 'rubygems/package'
    archive = archive['value'] if archive.is_a?(Hash)
    stream = Zlib::GzipReader.new(StringIO.new(Base64.decode64(archive)))
    left = PLUGIN_BYTES_MAX
    Gem::Package::TarReader.new(stream).each do |entry|
      next unless entry.file?

      left -= entry.header.size
      raise "the modules have more than #{PLUGIN_BYTES_MAX} bytes" if left.negative?

      write(entry, File.expand_path(entry.full_name, directory), directory)
    end
  end

  def self.write(entry, path, directory)
    raise "#{entry.full_name} is outside of the modules" unless path.start_with?("#{directory}/")

    FileUtils.mkdir_p(File.dirname(path))
    File.open(path, 'wb', entry.header.mode & 0o755) { |file| IO.copy_stream(entry, file) }
  end
end
