# Calls functions of Puppet 4, each defined by the text of its file, with a global scope of some variables.
require 'json'
require 'puppet'
require 'timeout'
STDOUT.set_encoding('utf-8')
Encoding.default_external = Encoding::UTF_8

class FakeScope
  VARIABLES = {
    'facts' => { 'memorysize' => '7.78 GiB', 'os' => { 'family' => 'Debian' } },
    'memorysize' => '512.00 MB', 'osfamily' => 'Debian'
  }.freeze

  def lookupvar(name, _options = {})
    VARIABLES.fetch(name.sub(/\A::/, ''))
  end
  alias [] lookupvar
end

question = JSON.parse(STDIN.read)
Puppet.initialize_settings(['--confdir=/nonexistent', '--vardir=/nonexistent'], false)
environment = Puppet::Node::Environment.create(:production, [])
loaders = Puppet::Pops::Loaders.new(environment)
Puppet.push_context({ current_environment: environment, loaders: loaders }, 'functions')
functions = question['functions'].map do |text|
  created = eval(text, TOPLEVEL_BINDING, '(function)')
  created.new(FakeScope.new, loaders.puppet_system_loader)
rescue Exception => e
  e
end
answers = question['cases'].map do |number, arguments|
  function = functions[number]
  raise function if function.is_a?(Exception)
  before = JSON.generate(arguments)
  result = Timeout.timeout(5) { function.call(FakeScope.new, *arguments) }
  raise 'the function changed an argument' unless JSON.generate(arguments) == before
  { value: JSON.generate([result]) }
rescue Exception => e
  { error: "#{e.class}: #{e.message}"[0, 300].scrub }
end
puts JSON.generate(answers)
