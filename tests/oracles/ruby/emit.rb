# What Psych writes for each tree of tagged JSON.
#
# Reads {"trees": [..], "options": [{..}, ..]}; answers a list of texts for each tree, one for each of
# the options.
require 'json'
require 'psych'
STDOUT.set_encoding('utf-8')

# Every text is an object of its own, so that nothing is written as an alias.
def tree(value)
  case value
  when nil, true, false then value
  when Array then value.map { |it| tree(it) }
  when Hash
    kind, it = value.first
    case kind
    when 'int' then Integer(it)
    when 'float'
      { 'nan' => Float::NAN, 'Infinity' => Float::INFINITY, '-Infinity' => -Float::INFINITY }[it] ||
        [it].pack('H*').unpack1('G')
    when 'str' then it.dup
    when 'sym' then it.to_sym
    when 'bin' then [it].pack('H*')
    when 'map' then it.to_h { |key, one| [tree(key), tree(one)] }
    end
  end
end

question = JSON.parse(STDIN.read)
layouts = question['options'].map { |it| it.transform_keys(&:to_sym) }
puts JSON.generate(question['trees'].map { |it| layouts.map { |layout| tree(it).to_yaml(layout) } })
