# Runs the plans of cases.txt with the real Bolt, and writes its answers to answers.json.
#
#   RUBYLIB=PUPPET_8/usr/lib/ruby/vendor_ruby ruby record.rb BOLT_DIRECTORY [CASE...]
#
# PUPPET_8 is what `cargo xtask oracles` unpacks, target/oracles/puppet8. BOLT_DIRECTORY is a checkout of Bolt; its gems
# must be installed. On Debian 12 these packages are enough: r10k, ruby-logging, ruby-addressable, ruby-net-ssh,
# ruby-net-scp, ruby-net-ssh-krb, ruby-terminal-table, ruby-minitar, ruby-jwt, ruby-httpclient, ruby-cfpropertylist, puppet-strings,
# ruby-puppet-resource-api, hiera-eyaml. These gems may be absent, since nothing here connects to other machines:
# winrm, winrm-fs, orchestrator_client, ruby_smb, puppetfile-resolver. With names of cases their answers are printed.
require 'fileutils'
require 'json'
require 'logger'
require 'tmpdir'

here = __dir__
bolt = File.expand_path(ARGV.fetch(0))
absent = Dir.mktmpdir
%w[winrm winrm-fs orchestrator_client ruby_smb puppetfile-resolver].each do |gem|
  File.write(File.join(absent, "#{gem}.rb"), '')
end
$LOAD_PATH.unshift(File.join(bolt, 'lib'))
$LOAD_PATH.push(absent)
$stdin.reopen(File::NULL)

require 'bolt'
require 'bolt/config'
require 'bolt/executor'
require 'bolt/inventory'
require 'bolt/logger'
require 'bolt/pal'
require 'bolt/plugin'
require 'bolt/puppetdb'
require 'bolt/util'

# A new one for each plan, since Bolt changes it.
def inventory
  {
    'targets' => [{ 'name' => 'a' }],
    'groups' => [{ 'name' => 'some', 'targets' => [{ 'name' => 'b' }, { 'name' => 'c' }] }],
    'config' => { 'transport' => 'local' }
  }
end

# Keeps what a plan says and does.
class Collector
  attr_reader :events

  def initialize
    @events = []
  end

  def handle_event(event)
    case event[:type]
    when :message then @events << "message: #{event[:message]}"
    when :verbose then @events << "verbose: #{event[:message]}"
    when :log then @events << "log #{event[:level]}: #{event[:message]}"
    when :step_start then @events << "#{event[:description]} on #{event[:targets].length}"
    end
  end
end

# One that cannot be reached.
def puppetdb(project)
  config = { 'server_urls' => ['http://127.0.0.1:1'] }
  Bolt::PuppetDB::Client.new(config: config, project: project)
end

# Cases by name: the text of the plan and its extension.
def cases(path)
  found = {}
  File.read(path).split(/^=== /).drop(1).each do |section|
    head, body = section.split("\n", 2)
    name, language = head.split
    found[name] = language ? [body, 'yaml'] : ["plan cases::#{name}() {\n#{body}}\n", 'pp']
  end
  found
end

# Paths of this machine are left out of answers, and so are backtraces of Ruby.
def plain(value, root)
  case value
  when Hash then value.reject { |key, _| key == 'stack_trace' }.transform_values { |item| plain(item, root) }
  when Array then value.map { |item| plain(item, root) }
  when String then value.gsub("#{root}/", '')
  else value
  end
end

def answer(root, name)
  project = Bolt::Project.create_project(root)
  config = Bolt::Config.new(project, {})
  plugins = Bolt::Plugin.new(config, nil)
  nodes = Bolt::Inventory.create_version(inventory, config.transport, config.transports, plugins)
  executor = Bolt::Executor.new(2)
  collector = Collector.new
  executor.subscribe(collector)
  path = [File.join(root, 'modules')]
  modules = Bolt::Config::Modulepath.new(path)
  pal = Bolt::PAL.new(modules, nil, nil, 1, nil, {}, project)
  result = pal.run_plan("cases::#{name}", {}, executor, nodes, puppetdb(project))
  executor.shutdown
  data = JSON.parse(JSON.generate([result.value]))[0]
  { 'status' => result.status, 'value' => plain(data, root), 'events' => plain(collector.events, root) }
end

Bolt::Logger.initialize_logging
Dir.mktmpdir do |root|
  root = File.realpath(root)
  FileUtils.cp_r(File.join(here, 'modules'), root)
  FileUtils.chmod(0o755, Dir[File.join(root, 'modules/cases/{tasks,files}/*.sh')])
  all = cases(File.join(here, 'cases.txt'))
  all.each do |name, (text, extension)|
    File.write(File.join(root, "modules/cases/plans/#{name}.#{extension}"), text)
  end
  only = ARGV.drop(1)
  answers = all.keys.select { |name| only.empty? || only.include?(name) }.to_h do |name|
    [name, answer(root, name)]
  rescue StandardError => e
    [name, { 'status' => 'raised', 'value' => "#{e.class}: #{e.message}" }]
  end
  text = JSON.pretty_generate(answers).gsub(/\[\s+\]/, '[]').gsub(/\{\s+\}/, '{}')
  only.empty? ? File.write(File.join(here, 'answers.json'), "#{text}\n") : puts(text)
end
