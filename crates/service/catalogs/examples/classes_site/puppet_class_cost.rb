# Compiles classes with Puppet in this process: puppet_class_cost.rb DIRECTORY MODULES NODE CLASSES
# NODE and CLASSES are files as for class_cost. All classes are compiled one after the other, twice. It
# prints the sum of the times of each round, in seconds, with the documents as text.
require 'json'
require 'puppet'

directory, modules, node_file, list = ARGV
Puppet.initialize_settings(['--confdir', "#{directory}/none", '--vardir', "#{directory}/none", '--strict', 'error'])
Puppet[:strict_variables] = true
Puppet::Util::Log.level = :err
description = JSON.parse(File.read(node_file))
modern = description['facts']
facts_of = { 'modern' => modern, 'legacy' => modern.merge(description['legacy_facts']) }
rows = File.readlines(list).map(&:split).reject { |_, _, resources| resources == 'fails' }
environment = Puppet::Node::Environment.create(:production, [modules], "#{directory}/manifests")
loaders = Puppet::Environments::Static.new(environment)
Puppet.override(current_environment: environment, environments: loaders, rich_data: true, stringify_rich: false) do
  rounds = (1..2).map do
    failed = []
    seconds = rows.sum do |name, facts|
      # a node freezes its facts
      values = Marshal.load(Marshal.dump(facts_of.fetch(facts)))
      node = Puppet::Node.new(description['certname'], environment: environment)
      node.parameters = { 'class_to_compile' => name }
      node.fact_merge(Puppet::Node::Facts.new(node.name, values))
      node.add_server_facts(description['server_facts'])
      node.trusted_data = Puppet::Context::TrustedInformation.new('remote', node.name, {}, {}).to_h
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      begin
        Puppet::Parser::Compiler.compile(node).to_json
      rescue StandardError => e
        failed << "#{name}: #{e.message}"
      end
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
    end
    failed.each { |message| $stderr.puts(message) }
    [seconds, failed.size]
  end
  (first, _), (later, failed) = rounds
  puts format('Puppet %s: %d classes, %d fail; first round %.2f s, later %.2f s', Puppet.version, rows.size, failed, first, later)
end
