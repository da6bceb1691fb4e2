# Compiles catalogs with the installed Puppet, strictly as Puppet 8 does, each in a process of its own.
#
# A tree is a directory with
#   environments/production   the environment, written as /env in answers
#   global                    the configuration directory with the global hiera.yaml, written as /global
#   library                   the base module path, written as /library
# A node is {"certname", "facts", "server_facts", "trusted", "classes", "parameters"}: what the agent
# sends, what the server adds, the certificate's extensions, and what a classifier answers.
require 'json'
require 'fileutils'
require 'tempfile'
require 'tmpdir'
require 'puppet'
require 'puppet/parser/compiler'
require 'puppet/indirector/catalog/compiler'

# Settings of a compiler; the paths exist in no tree.
def prepare_puppet
  # Puppet creates some of its directories, so they go away with the process
  none = Dir.mktmpdir('oracle')
  owner = Process.pid
  at_exit { FileUtils.remove_entry(none) if Process.pid == owner }
  paths = ['--confdir', "#{none}/global", '--vardir', "#{none}/var", '--codedir', none]
  Puppet.settings.preferred_run_mode = :server
  Puppet.initialize_settings(paths)
  Puppet[:strict] = :error
  Puppet[:strict_variables] = true
  Puppet[:vendormoduledir] = "#{none}/vendor"
  Puppet[:hostcert] = "#{none}/cert.pem"
  Puppet::Util::Log.level = :notice
  load_types
end

# Loads the built-in types and all code of a compile, so that the processes of cases share it.
def load_types
  names = Dir.glob("#{$LOAD_PATH.find { |path| File.exist?("#{path}/puppet/type.rb") }}/puppet/type/*.rb")
  context = { environments: Puppet::Environments::Static.new, current_environment: nil }
  Puppet.override(context) do
    environment = Puppet::Node::Environment.create(:production, [])
    Puppet.override(current_environment: environment) do
      names.sort.each { |name| Puppet::Type.type(File.basename(name, '.rb').to_sym) }
      node = Puppet::Node.new('warm', environment: environment)
      Puppet[:code] = 'notify { a: message => Sensitive("a") }'
      Puppet::Parser::Compiler.compile(node).render('rich_data_json')
      Puppet[:code] = ''
    end
  end
end

# Exported resources of other nodes, in place of PuppetDB.
class OracleExports
  def initialize(resources)
    @resources = resources
  end

  def search(type, options)
    filter = options[:filter]
    found = @resources.select { |resource| resource['type'] == type && match?(resource, filter) }
    found.map { |resource| parser_resource(resource, options[:scope]) }
  end

  private

  def match?(resource, filter)
    return true if filter.nil?

    left, operator, right = filter
    case operator
    when 'and' then match?(resource, left) && match?(resource, right)
    when 'or' then match?(resource, left) || match?(resource, right)
    when '==' then equal?(resource, left, right)
    when '!=' then !equal?(resource, left, right)
    end
  end

  def equal?(resource, name, value)
    case name
    when 'tag' then (resource['tags'] || []).include?(value.downcase)
    when 'title' then resource['title'] == value
    else (resource['parameters'] || {})[name] == value
    end
  end

  # As PuppetDB's terminus builds it.
  def parser_resource(data, scope)
    parameters = (data['parameters'] || {}).map do |name, value|
      Puppet::Parser::Resource::Param.new(name: name, value: value)
    end
    type = Puppet::Pops::Evaluator::Runtime3ResourceSupport.find_resource_type(scope, data['type'])
    resource = Puppet::Parser::Resource.new(type, data['title'], parameters: parameters, scope: scope)
    resource.collector_id = "#{data['certname']}|#{data['type']}|#{data['title']}"
    resource
  end
end

def use_exports(resources)
  Puppet[:storeconfigs] = true
  exports = OracleExports.new(resources)
  Puppet::Resource.indirection.define_singleton_method(:search) do |type, options|
    exports.search(type, options)
  end
end

def use_tree(root)
  Puppet[:confdir] = "#{root}/global"
  Puppet[:hiera_config] = "#{root}/global/hiera.yaml"
  Puppet[:codedir] = root
  Puppet[:environmentpath] = "#{root}/environments"
  Puppet[:basemodulepath] = "#{root}/library"
end

def node_of(question, environment)
  node = Puppet::Node.new(question['certname'])
  node.parameters = question['parameters'].dup if question['parameters']
  node.classes = question['classes'] if question['classes']
  node.environment = environment
  node.fact_merge(Puppet::Node::Facts.new(node.name, question['facts']))
  node.add_server_facts(question['server_facts'])
  trusted = Puppet::Context::TrustedInformation.new(
    'remote', question['certname'], question['trusted'] || {}, {}
  )
  node.trusted_data = trusted.to_h
  node
end

# The resources of a server whose setting rich_data is off: with the warnings of strict = warning, and the
# error of strict = error, if there is one.
def plain_resources(catalog, logged)
  before = logged.size
  Puppet.override(rich_data: false) do
    Puppet[:strict] = :warning
    answer = { resources: JSON.parse(catalog.render('json'))['resources'] }
    answer[:warnings] = log_lines(logged.pop(logged.size - before), nil)
    Puppet[:strict] = :error
    begin
      catalog.render('json')
    rescue StandardError => e
      answer[:error] = e.message
    end
    logged.pop(logged.size - before)
    answer
  end
end

# What an agent gets, and the exported resources, which go to PuppetDB.
def documents(catalog, plain, logged)
  for_agent = catalog.filter(&:virtual?)
  answer = { catalog: JSON.parse(for_agent.render('rich_data_json')) }
  answer[:plain] = plain_resources(for_agent, logged) if plain
  exported = JSON.parse(catalog.render('rich_data_json'))['resources'].select { |it| it['exported'] }
  answer[:exported] = exported unless exported.empty?
  answer
end

# Ruby itself appends a line of its source and suggestions to some messages.
ADDED_BY_RUBY = /\n(\n[^\n]*\n *\^+|Did you mean\?[^\n(]*(?= \(|$))/

def refusal(error)
  place = ->(name) { error.respond_to?(name) ? error.public_send(name) : nil }
  {
    error: error.message.gsub(ADDED_BY_RUBY, ''), code: place[:issue_code]&.to_s,
    file: place[:file], line: place[:line], column: place[:pos]
  }
end

# What was logged, without the error that is answered.
def log_lines(logged, error)
  logged.reject { |log| log.level == :err && error&.start_with?(log.message.gsub(ADDED_BY_RUBY, '')) }.map do |log|
    # the place of a message may be outside of its text
    place = log.file && !log.message.include?(log.file) ? " (#{log.file}:#{log.line})" : ''
    "#{log.level} #{log.source}: #{log.message}#{place}"
  end
end

def compile_case(question)
  use_tree(question['root'])
  use_exports(question['exports']) if question['exports']
  logged = []
  Puppet::Util::Log.close_all
  Puppet::Util::Log.newdestination(Puppet::Test::LogCollector.new(logged))
  answer = Puppet.override(Puppet.base_context(Puppet.settings)) do
    environment = Puppet.lookup(:environments).get!(:production)
    Puppet.override(current_environment: environment) do
      begin
        node = node_of(question, environment)
        documents(Puppet::Parser::Compiler.compile(node), question['plain'], logged)
      rescue StandardError, SystemStackError => e
        refusal(e)
      end
    end
  end
  answer.merge(logs: log_lines(logged, answer[:error]))
end

# The answer with fixed paths in place of those of a tree, and without addresses of Ruby's objects.
def without_root(answer, root)
  text = JSON.generate(answer).gsub(/(#<[\w:]+):0x\h+>/, '\1>')
  text = text.gsub("#{root}/environments/production", '/env')
  text.gsub("#{root}/global", '/global').gsub("#{root}/library", '/library').gsub(root, '/root')
end

# The answer of a process that takes too long.
LATE = JSON.generate(error: 'no answer in time')

# A process on a busy machine gets a tenth of a core.
WALL_SECONDS_PER_CPU_SECOND = 10

# Starts a process that writes the block's text into a file. It ends after so many seconds of CPU, which do not depend on other
# processes of the machine; if it only waits, it ends later.
def in_process(seconds)
  file = Tempfile.new('answer')
  child = fork do
    begin
      Process.setrlimit(:CPU, seconds, seconds + 1)
      $stdout.reopen($stderr)
      File.write(file.path, yield)
      exit!(0)
    rescue Exception => e # rubocop:disable Lint/RescueException
      $stderr.puts("#{e.class}: #{e.message}\n#{e.backtrace.first(20).join("\n")}")
      exit!(1)
    end
  end
  [child, file, Process.clock_gettime(Process::CLOCK_MONOTONIC) + (seconds * WALL_SECONDS_PER_CPU_SECOND)]
end

def finish_process((child, file, deadline))
  loop do
    _, status = Process.wait2(child, Process::WNOHANG)
    return LATE if status&.termsig == Signal.list['XCPU']
    break if status

    if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      Process.kill(:KILL, child)
      Process.wait(child)
      return LATE
    end
    sleep(0.002)
  end
  text = File.read(file.path, encoding: 'utf-8')
  text.empty? ? JSON.generate(error: 'the process died') : text
ensure
  file.close!
end

# Processes that compile at the same time.
AT_ONCE = 2

# The answers of the block to each question, in order, as JSON texts.
def answers_of(questions, seconds, &block)
  running = []
  answers = []
  questions.each do |question|
    answers << finish_process(running.shift) if running.size >= AT_ONCE
    running << in_process(seconds) { block.call(question) }
  end
  answers + running.map { |process| finish_process(process) }
end
