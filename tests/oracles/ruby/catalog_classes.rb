# What the installed Puppet compiles for `include CLASS`, for every class of a directory of modules.
#
# Reads {"root", "modules", "output", "certname", "server_facts", "facts", "legacy_facts"} from standard
# input. Below `root` is a tree (see catalog_compiler.rb) whose `library` is `modules`. Each class is
# compiled with the facts and, if that fails, with the legacy facts as well. The last answer of a class
# goes to OUTPUT/CLASS.json as one for a case (see catalogs.rb), with "node": "modern" or "legacy".
# Answers a list of [class, node, number of resources or null, digest of the document or message]. A
# process compiles some dozens of classes.
require 'digest'
require_relative 'catalog_compiler'

# Classes for one process.
GROUP = 40
# Seconds for a class.
LONGEST_CLASS = 60
# Seconds for a process, which has stopped by itself long before if its code can be interrupted.
LONGEST = (GROUP * LONGEST_CLASS) + 60

def classes_of(modules)
  Dir.glob("#{modules}/*/manifests/**/*.pp").sort.filter_map do |path|
    name, rest = path.delete_prefix("#{modules}/").delete_suffix('.pp').split('/manifests/', 2)
    segments = [name, *rest.split('/')]
    segments.pop if segments.size == 2 && segments.last == 'init'
    full = segments.join('::')
    full if File.read(path, encoding: 'utf-8').scrub =~ /^\s*class\s+(::)?#{full}\b(?!::)/
  end
end

# The environment of a process, shared by its classes as in a server.
def with_environment(root)
  use_tree(root)
  Puppet.override(Puppet.base_context(Puppet.settings)) do
    environment = Puppet.lookup(:environments).get!(:production)
    Puppet.override(current_environment: environment) { yield environment }
  end
end

def compile_class(question, name, facts, environment)
  logged = []
  Puppet::Util::Log.close_all
  Puppet::Util::Log.newdestination(Puppet::Test::LogCollector.new(logged))
  Puppet.clear_deprecation_warnings
  Puppet::Util::Warnings.clear_warnings
  answer = begin
    Timeout.timeout(LONGEST_CLASS) do
      # a node freezes its facts
      own = { 'facts' => Marshal.load(Marshal.dump(facts)), 'parameters' => { 'class_to_compile' => name } }
      node = node_of(question.merge(own), environment)
      documents(Puppet::Parser::Compiler.compile(node), false, logged)
    end
  rescue StandardError, SystemStackError, ScriptError => e
    refusal(e)
  end
  answer.merge(logs: log_lines(logged, answer[:error]))
end

def compile_either(question, name, environment)
  modern = compile_class(question, name, question['facts'], environment)
  return modern.merge(node: 'modern') unless modern[:error]

  facts = question['facts'].merge(question['legacy_facts'])
  compile_class(question, name, facts, environment).merge(node: 'legacy')
end

# Digits of a digest that tell documents apart.
DIGITS = 16

def row_of(name, answer)
  catalog = answer['catalog']
  return [name, answer['node'], nil, digest(answer['error'])] unless catalog

  stable = catalog.merge('version' => nil, 'catalog_uuid' => nil)
  [name, answer['node'], catalog['resources'].size, digest(JSON.generate(stable))]
end

def digest(text)
  Digest::SHA256.hexdigest(text)[0, DIGITS]
end

def compile_group(question, names)
  with_environment(question['root']) do |environment|
    names.map do |name|
      answer = compile_either(question, name, environment)
      text = without_root(answer, question['root']).gsub(question['modules'], '/library')
      File.write("#{question['output']}/#{name}.json", text)
      row_of(name, JSON.parse(text))
    end
  end
end

question = JSON.parse($stdin.read)
prepare_puppet
groups = classes_of(question['modules']).group_by { |name| name[/\A\w+/] }.values
groups = groups.flat_map { |names| names.each_slice(GROUP).to_a }
answers = answers_of(groups, LONGEST) { |names| JSON.generate(compile_group(question, names)) }
rows = groups.zip(answers).flat_map do |names, text|
  rows = JSON.parse(text)
  rows.is_a?(Array) ? rows : names.map { |name| [name, 'none', nil, rows['error']] }
end
$stdout.write(JSON.generate(rows))
