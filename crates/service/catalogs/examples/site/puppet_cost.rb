# Compiles a site with Puppet in this process: puppet_cost.rb DIRECTORY MODULES FACTS ROUNDS
# The modules of the directory itself replace those of the module path. It prints the first time and the
# median of the later ones, in milliseconds, with the document as text.
require 'json'
require 'puppet'

directory, modules, facts_file, rounds = ARGV
Puppet.initialize_settings(['--confdir', "#{directory}/none", '--vardir', "#{directory}/none", '--strict', 'error'])
Puppet[:strict_variables] = true
Puppet::Util::Log.level = :err
facts = JSON.parse(File.read(facts_file))
environment = Puppet::Node::Environment.create(:production, ["#{directory}/modules", modules], "#{directory}/manifests")
loaders = Puppet::Environments::Static.new(environment)
Puppet.override(current_environment: environment, environments: loaders, rich_data: true, stringify_rich: false) do
  times = (0..rounds.to_i).map do
    node = Puppet::Node.new('node1.example.com', environment: environment, facts: Puppet::Node::Facts.new('node1', facts))
    node.merge(facts)
    node.add_server_facts({})
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    catalog = Puppet::Parser::Compiler.compile(node)
    catalog.to_json
    @count = catalog.resources.size
    (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
  end
  cold, *warm = times
  puts format('Puppet %s: %d resources, cold %.1f ms, warm %.1f ms', Puppet.version, @count, cold, warm.sort[warm.size / 2])
end
