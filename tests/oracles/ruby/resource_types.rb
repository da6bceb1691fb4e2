# The resource types that Puppet has after loading type files.
#
# Reads {"libraries": [directories that are searched for puppet/type and puppet/provider],
# "types": [{"name": .., "file": path or null}, ..]}; answers for each type its properties, parameters,
# name variables, title patterns and isomorphism, or {"error": ..}. A type without a file is
# autoloaded by its name.
require 'json'
STDOUT.set_encoding('utf-8')
answers = STDOUT.dup
STDOUT.reopen(STDERR)

question = JSON.parse(STDIN.read)
$LOAD_PATH.concat(question['libraries'])
require 'puppet'
Puppet.initialize_settings(['--vardir', '/dev/null/var', '--confdir', '/dev/null/etc'])
Puppet[:log_level] = :err

def pattern(regexp)
  flags = { 'm' => Regexp::MULTILINE, 'i' => Regexp::IGNORECASE, 'x' => Regexp::EXTENDED }
  [regexp.source, flags.select { |_, bit| regexp.options & bit != 0 }.keys.join]
end

def describe(type)
  titles = type.title_patterns
  {
    'name' => type.name.to_s,
    'properties' => type.properties.map { |it| it.name.to_s },
    'parameters' => type.parameters.map(&:to_s),
    'name_variables' => type.key_attributes.map(&:to_s),
    'marked_name_variables' => (type.properties + type.parameters.map { |it| type.paramclass(it) })
                               .select(&:isnamevar?).map { |it| it.name.to_s },
    'title_patterns' => titles.map { |regexp, names| pattern(regexp) + [names.map { |it| it.first.to_s }] },
    'title_procs' => titles.flat_map { |_, names| names.map { |it| it[1] } }.compact.size,
    'isomorphic' => type.isomorphic? ? true : false
  }
end

described = question['types'].map do |asked|
  require asked['file'] if asked['file']
  types = Puppet::Type.instance_variable_get('@types')
  type = asked['file'] ? types[asked['name'].to_sym] : Puppet::Type.type(asked['name'])
  type ? describe(type) : { 'error' => 'no type of this name' }
rescue Exception => e # a file may even exit
  { 'error' => "#{e.class}: #{e.message}" }
end
metaparameters = Puppet::Type.metaparams.map do |name|
  { 'name' => name.to_s, 'relationship' => Puppet::Type.metaparamclass(name) < Puppet::Type::RelationshipMetaparam ? true : false }
end
answers.puts JSON.generate('types' => described, 'metaparameters' => metaparameters)
