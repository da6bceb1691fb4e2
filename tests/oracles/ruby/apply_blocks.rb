# The syntax trees that the installed Puppet sends of apply blocks, and the catalogs that it compiles from them, as a
# puppetserver does for `POST /puppet/v3/compile`.
#
# Reads a JSON list of {"root", "plan", "facts", "trusted", "variables", "target_variables"} from standard input; the
# root has `environments/production`. Answers for each the list of {"tree", "catalog" or "error"} of its blocks. A
# text without a plan is one block of all its statements, or all of the text if "whole" is true.
require_relative 'catalog_compiler'
require 'puppet_pal'

LONGEST = 30

def tree_of(node)
  Puppet::Pops::Serialization::ToDataConverter.convert(node, rich_data: true, symbol_to_string: true)
end

# The statements of an apply expression as the evaluator passes them on.
def statements_of(apply)
  statements = apply.body.statements
  return statements[0] if statements.size == 1

  Puppet::Pops::Model::BlockExpression.from_asserted_hash(apply.body._pcore_init_hash)
end

def blocks_of(question)
  # the converter finds the classes of nodes only where a compiler is
  Puppet::Pal.in_tmp_environment('plans', facts: {}) do |pal|
    pal.with_catalog_compiler { trees_of(question) }
  end
end

def trees_of(question)
  parser = Puppet::Pops::Parser::EvaluatingParser.new
  is_plan = question['plan'].match?(/^plan /)
  Puppet[:tasks] = is_plan
  program = parser.parse_string(question['plan'], '/plans/deploy.pp')
  Puppet[:tasks] = false
  return [tree_of(question['whole'] ? program : program.body)] unless is_plan

  blocks = []
  program._pcore_all_contents([]) do |node|
    blocks << tree_of(statements_of(node)) if node.is_a?(Puppet::Pops::Model::ApplyExpression)
  end
  blocks
end

# A program of the statements, with the node blocks among them.
def program_of(tree)
  ast = Puppet::Pops::Serialization::FromDataConverter.convert(tree)
  return ast if ast.is_a?(Puppet::Pops::Model::Program)

  statements = ast.is_a?(Puppet::Pops::Model::BlockExpression) ? ast.statements : [ast]
  nodes = statements.grep(Puppet::Pops::Model::NodeDefinition)
  Puppet::Pops::Model::Factory.PROGRAM(ast, nodes, ast.locator).model
end

def compile_tree(tree, question)
  paths = { envpath: "#{question['root']}/environments", facts: question['facts'] }
  variables = { variables: question['variables'], target_variables: question['target_variables'] }
  Puppet[:node_name_value] = 'web1'
  Puppet::Pal.in_environment('production', **paths) do |pal|
    Puppet.lookup(:pal_current_node).trusted_data = question['trusted']
    pal.with_catalog_compiler(**variables) do |compiler|
      Puppet[:strict] = :warning
      Puppet[:strict_variables] = false
      compiler.evaluate(program_of(tree))
      compiler.evaluate_ast_node
      compiler.compile_additions
      compiler.catalog_data_hash
    end
  end
end

def answer_of(tree, question)
  { tree: tree, catalog: compile_tree(JSON.parse(JSON.generate(tree)), question) }
rescue StandardError => e
  { tree: tree, error: e.message }
end

questions = JSON.parse($stdin.read)
prepare_puppet
Puppet::Util::Log.close_all
answers = answers_of(questions, LONGEST) do |question|
  use_tree(question['root'])
  answers = Puppet.override(Puppet.base_context(Puppet.settings)) do
    blocks_of(question).map { |tree| answer_of(tree, JSON.parse(JSON.generate(question))) }
  end
  without_root(answers, question['root'])
end
$stdout.write("[#{answers.join(',')}]")
