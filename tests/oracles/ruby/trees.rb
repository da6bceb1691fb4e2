# Puppet's trees, as tests/it/syntax/dump.rs writes ours. Question: a list of {code, epp, tasks}. Answer:
# for each the tree, or nil where the source is refused.
require 'json'
require 'tmpdir'
require 'puppet'
require 'puppet/pops'

include Puppet::Pops::Model

def all(list) = list.map { |one| tree(one) }

def ops(list)
  list.map do |op|
    next [op.offset, '* =>', nil, tree(op.expr)] if op.is_a?(AttributesOperation)

    [op.offset, op.operator, op.attribute_name, tree(op.value_expr)]
  end
end

def params(list)
  list.map { |one| [one.offset, one.name, tree(one.type_expr), tree(one.value), !!one.captures_rest] }
end

def lambda_of(one) = one && [params(one.parameters), tree(one.return_type), tree(one.body)]

def called(kind, one)
  [kind, one.offset, !!one.rval_required, tree(one.functor_expr), all(one.arguments), lambda_of(one.lambda)]
end

def named(kind, one, parent = nil, returns = nil)
  [kind, one.offset, one.name, params(one.parameters), parent, tree(returns), tree(one.body)]
end

def binary(one, op) = [op, one.offset, tree(one.left_expr), tree(one.right_expr)]

def tree(one)
  case one
  when nil then nil
  when Program then tree(one.body)
  when Nop then nil
  when BlockExpression
    one.statements.size < 2 ? tree(one.statements[0]) : ['block', all(one.statements)]
  when LambdaExpression
    ['epp', one.body.parameters_specified, params(one.parameters), tree(one.body.body)]
  when RenderStringExpression then ['text-of-template', one.value]
  when RenderExpression then ['render', tree(one.expr)]
  when LiteralUndef then ['undef', one.offset]
  when LiteralDefault then ['default', one.offset]
  when LiteralBoolean then ['bool', one.offset, one.value]
  when LiteralInteger then ['int', one.offset, one.value, one.radix]
  when LiteralFloat then ['float', one.offset, one.value]
  when LiteralString then ['str', one.offset, one.value]
  when QualifiedName then ['name', one.offset, one.value]
  when QualifiedReference then ['type', one.offset, one.cased_value]
  when LiteralRegularExpression then ['regex', one.offset, one.value.source]
  when ReservedWord then ['reserved', one.offset, one.word]
  when VariableExpression then ['var', one.offset, one.expr.value.to_s]
  when ConcatenatedString then ['concat', one.offset, all(one.segments)]
  when TextExpression then ['text', tree(one.expr)]
  when HeredocExpression then ['heredoc', one.offset, one.syntax, tree(one.text_expr)]
  when LiteralList then ['array', one.offset, all(one.values)]
  when LiteralHash
    ['hash', one.offset, one.entries.map { |entry| [entry.offset, tree(entry.key), tree(entry.value)] }]
  when ParenthesizedExpression then ['paren', one.offset, tree(one.expr)]
  when NotExpression then ['!', one.offset, tree(one.expr)]
  when UnaryMinusExpression then ['-', one.offset, tree(one.expr)]
  when UnfoldExpression then ['*', one.offset, tree(one.expr)]
  when InExpression then binary(one, 'in')
  when AndExpression then binary(one, 'and')
  when OrExpression then binary(one, 'or')
  when NamedAccessExpression then ['.', one.offset, tree(one.left_expr), one.right_expr.value]
  when BinaryExpression then binary(one, one.operator)
  when AccessExpression then ['[]', one.offset, tree(one.left_expr), all(one.keys)]
  when CallMethodExpression then called('method', one)
  when CallExpression then called('call', one)
  when UnlessExpression then ['unless', one.offset, tree(one.test), tree(one.then_expr), tree(one.else_expr)]
  when IfExpression then ['if', one.offset, tree(one.test), tree(one.then_expr), tree(one.else_expr)]
  when CaseExpression
    options = one.options.map { |option| [option.offset, all(option.values), tree(option.then_expr)] }
    ['case', one.offset, tree(one.test), options]
  when SelectorExpression
    entries = one.selectors.map { |entry| [entry.offset, tree(entry.matching_expr), tree(entry.value_expr)] }
    ['?', one.offset, tree(one.left_expr), entries]
  when ResourceExpression
    bodies = one.bodies.map { |body| [tree(body.title), ops(body.operations)] }
    ['resource', one.offset, one.form, tree(one.type_name), bodies]
  when ResourceDefaultsExpression
    ['defaults', one.offset, one.form, tree(one.type_ref), ops(one.operations)]
  when ResourceOverrideExpression
    ['override', one.offset, one.form, tree(one.resources), ops(one.operations)]
  when CollectExpression
    exported = one.query.is_a?(ExportedQuery)
    ['collect', one.offset, exported, tree(one.type_expr), tree(one.query.expr), ops(one.operations)]
  when HostClassDefinition then named('class', one, one.parent_class)
  when ResourceTypeDefinition then named('define', one)
  when PlanDefinition then named('plan', one, nil, one.return_type)
  when FunctionDefinition then named('function', one, nil, one.return_type)
  when NodeDefinition then ['node', one.offset, all(one.host_matches), tree(one.parent), tree(one.body)]
  when TypeAlias then ['alias', one.offset, one.name, tree(one.type_expr)]
  when TypeMapping then ['mapping', one.offset, tree(one.type_expr), tree(one.mapping_expr)]
  when TypeDefinition then ['type-definition']
  when ApplyExpression then ['apply', one.offset, all(one.arguments), tree(one.body)]
  else raise "no tree for a #{one.class}"
  end
end

def answer(one)
  Puppet[:tasks] = one['tasks']
  parser = one['epp'] ? Puppet::Pops::Parser::EppParser.new : Puppet::Pops::Parser::Parser.new
  program =
    begin
      parser.parse_string(one['code']).model
    rescue StandardError
      return nil
    end
  [tree(program)]
end

Dir.mktmpdir do |directory|
  Puppet.initialize_settings(['--strict', 'error', '--confdir', directory, '--vardir', directory])
  Puppet::Util::Log.level = :err
  puts JSON.generate(JSON.parse($stdin.read).map { |one| answer(one) })
end
