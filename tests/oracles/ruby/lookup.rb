# What Puppet's lookup finds in the site under `hiera`: each question in a compiler of its own.
require 'json'
require 'puppet'
require 'tmpdir'
STDOUT.set_encoding('utf-8')

# Rich values as themselves or as tagged ones.
def tagged(value)
  case value
  when Puppet::Pops::Types::PSensitiveType::Sensitive then { 'sensitive' => tagged(value.unwrap) }
  when Array then value.map { |it| tagged(it) }
  when Hash then value.map { |key, it| [key.to_s, tagged(it)] }.to_h
  else value
  end
end

def compiler_for(question, site)
  environment = Puppet.lookup(:environments).get!(:production)
  facts = Puppet::Node::Facts.new('web1.example.com', question['facts'])
  node = Puppet::Node.new('web1.example.com', environment: environment, facts: facts)
  node.merge(facts.values)
  node.add_server_facts({})
  node.trusted_data = { 'certname' => 'web1.example.com' }
  Puppet::Parser::Compiler.new(node)
end

def answer(question, site)
  compiler = compiler_for(question, site)
  explainer = Puppet::Pops::Lookup::Explainer.new(true, question['only_options'])
  found = nil
  # A failing block would be reported as a failing compilation.
  compiler.compile do |catalog|
    found = begin
      invocation = Puppet::Pops::Lookup::Invocation.new(
        compiler.topscope, question['overrides'], question['defaults'], explainer
      )
      type = question['type'] && Puppet::Pops::Types::TypeParser.singleton.parse(question['type'])
      value = Puppet::Pops::Lookup.lookup(
        question['names'], type, question['default'], question.key?('default'), question['merge'],
        invocation
      )
      { value: tagged(value), explain: explainer.explain }
    rescue StandardError => e
      { error: e.message, explain: explainer.explain }
    end
    catalog
  end
  found
end

question = JSON.parse(STDIN.read)
site = question['site']
Dir.mktmpdir do |scratch|
  Puppet.initialize_settings([
    '--confdir', scratch, '--codedir', scratch, '--vardir', scratch, '--rundir', scratch,
    '--environmentpath', "#{site}/environments", '--hiera_config', "#{site}/global/hiera.yaml",
    '--strict', 'error', '--strict_variables'
  ])
  Puppet::Util::Log.level = :err
  Puppet::Util::Log.newdestination(:console) if ENV['ORACLE_LOG']
  Puppet[:code] = 'undef'
  Puppet.push_context(Puppet.base_context(Puppet.settings))
  puts JSON.generate(question['questions'].map { |it| answer(it, site) })
end
