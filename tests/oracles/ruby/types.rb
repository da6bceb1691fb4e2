# What Puppet says of types and values: which type takes which, which value belongs to which, in which
# words something does not fit, what is inferred, compared, converted, formatted and made rich data of.
require 'puppet'
require 'puppet_pal'
require 'json'
STDOUT.set_encoding('utf-8')

include Puppet::Pops
include Puppet::Pops::Types

CALC = TypeCalculator.singleton

# As a program writes it, with what is hidden shown.
def shown(value)
  case value
  when PSensitiveType::Sensitive then "Sensitive(#{shown(value.unwrap)})"
  when PBinaryType::Binary then "Binary(#{value})"
  else TypeFormatter.singleton.string(value)
  end
end

# What the block gives, or that Puppet itself breaks.
def unless_broken
  yield
rescue SystemStackError, NoMethodError, TypeError, Puppet::DevError
  'broken'
end

# The answer, or the error without its place and without what the evaluator puts before it.
def answer
  { ok: yield }
rescue SystemStackError, StandardError => e
  message = e.message.sub(/\AEvaluation Error: /, '')
  message = message.sub(/\AError while evaluating a (?:Function Call|Method Call|'\[\]' expression), /, '')
  { error: message.sub(/ \((?:file|line):.*?\)(?: on node .*)?\z/m, '') }
end

def grid(rows, columns)
  rows.map { |row| columns.map { |column| unless_broken { yield row, column } } }
end

def about_types(types, values)
  {
    texts: types.map(&:to_s),
    forms: types.map { |t| [t.generalize.to_s, unless_broken { t.normalize.to_s }, t.iterable? ? true : false] },
    assignable: grid(types, types) { |a, b| a.assignable?(b) ? true : false },
    common: grid(types, types) { |a, b| CALC.common_type(a, b).to_s },
    instance: grid(types, values) { |t, v| t.instance?(v) ? true : false },
    describe: grid(types, values) do |t, v|
      TypeMismatchDescriber.singleton.describe_mismatch('x', t, CALC.infer_set(v)) unless t.instance?(v)
    end
  }
end

def about_values(values)
  compare = Evaluator::CompareOperator.new
  {
    shown: values.map { |v| shown(v) },
    infer: values.map { |v| [CALC.infer(v), CALC.infer_set(v), CALC.infer(v).generalize].map(&:to_s) },
    equals: grid(values, values) { |a, b| compare.equals(a, b) ? true : false },
    compare: grid(values, values) do |a, b|
      begin
        compare.compare(a, b)
      rescue ArgumentError => e
        e.message
      end
    end
  }
end

def rich(value)
  Serialization::ToDataConverter.convert(value, rich_data: true, local_reference: false)
end

question = JSON.parse(STDIN.read)
Puppet.initialize_settings([])
Puppet[:log_level] = 'err'
Puppet[:strict] = :error
Puppet[:strict_variables] = true
Puppet::Pal.in_tmp_environment('oracle', modulepath: [], facts: { 'networking' => {} }) do |context|
  context.with_catalog_compiler do |compiler|
    compiler.evaluate_string(question['aliases'].join("\n") + "\nundef")
    read = ->(code) { compiler.evaluate_string(code) }
    types = question['types'].map(&read)
    values = question['values'].map(&read)
    puts JSON.generate(
      about_types(types, values)
        .merge(about_values(values))
        .merge(
          evaluated: question['evaluate'].map { |code| answer { shown(read.call(code)) } },
          rich: question['data'].map { |code| answer { rich(read.call(code)) } }
        )
    )
  end
end
