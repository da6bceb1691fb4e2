# Files of `puppet generate types`, and the parts and keys of titles, of Ruby types and of those files.
#
# Reads {"libraries": [..], "types": [{"name": .., "file": ..}], "titles": [..], "parameters": {..}};
# answers for each type {"text": .., "ruby": [..], "generated": {"name_variables": .., "patterns": ..,
# "titles": [..]}}. A title is {"parts": .., "key": .., "accepted": .., "key_with_parameters": ..,
# "left_out": ..} or {"error": ..}.
require 'json'
STDOUT.set_encoding('utf-8')
answers = STDOUT.dup
STDOUT.reopen(STDERR)

question = JSON.parse(STDIN.read)
$LOAD_PATH.concat(question['libraries'])
require 'puppet'
require 'puppet/generate/type'
Puppet.initialize_settings(['--vardir', '/dev/null/var', '--confdir', '/dev/null/etc'])
Puppet[:log_level] = :err
TEMPLATE = Puppet::Util.create_erb(
  File.read(File.join(File.dirname($LOADED_FEATURES.grep(%r{puppet/generate/type\.rb$}).first), 'templates/type/pcore.erb'))
)

# A resource without a name has its title there while it is compiled, and its type and title later.
def key(resource)
  resource.uniqueness_key.map { |it| it == "#{resource.type}/#{resource.title}" ? resource.title : it }
end

def titles(type, question)
  question['titles'].map do |title|
    resource = Puppet::Resource.new(type.name.to_s, title)
    resource.resource_type = type
    parts = resource.send(:parse_title)
    known = question['parameters'].select { |name, _| type.valid_parameter?(name.to_sym) }
    set = Puppet::Resource.new(type.name.to_s, title)
    set.resource_type = type
    known.each { |name, value| set[name] = value }
    { 'parts' => parts.map { |name, value| [name.to_s, value] }, 'key' => key(resource),
      'accepted' => known.keys, 'key_with_parameters' => key(set),
      'left_out' => resource.send(:namevar).to_s }
  rescue Puppet::Error => e
    { 'error' => e.message }
  end
end

environment = Puppet::Node::Environment.create(:asked, [])
compiler = Puppet::Parser::Compiler.new(Puppet::Node.new('asked', environment: environment))
described = Puppet.override(current_environment: environment, loaders: compiler.loaders) do
  question['types'].map do |asked|
    require asked['file'] if asked['file']
    types = Puppet::Type.instance_variable_get('@types')
    type = asked['file'] ? types[asked['name'].to_sym] : Puppet::Type.type(asked['name'])
    text = Puppet::Generate::Models::Type::Type.new(type).render(TEMPLATE)
    parser = Puppet::Pops::Parser::EvaluatingParser.new
    generated = parser.evaluate_string(compiler.topscope, text, asked['name'])
    { 'text' => text, 'ruby' => titles(type, question),
      'generated' => {
        'name_variables' => generated.key_attributes.map(&:to_s),
        'attributes' => (generated.properties + generated.parameters).map(&:name),
        'patterns' => generated.title_patterns&.map { |it, names| [it.source, names.flatten.map(&:to_s)] },
        'isomorphic' => generated.isomorphic?,
        'titles' => titles(generated, question)
      } }
  rescue Exception => e # as in resource_types.rb
    { 'error' => "#{e.class}: #{e.message}" }
  end
end
answers.puts JSON.generate(described)
