# Parses and validates sources as Puppet does. Question: a list of {code, epp, tasks}. Answer: for each
# nil where nothing is wrong, else the first error: {message, line, column, found}; the last two are
# nil where Puppet does not say, and `found` tells whether it is an error of Puppet's own making.
require 'json'
require 'tmpdir'
require 'puppet'
require 'puppet/pops'

def first_fault(one)
  Puppet[:tasks] = one['tasks']
  parser = one['epp'] ? Puppet::Pops::Parser::EppParser.new : Puppet::Pops::Parser::Parser.new
  program = parser.parse_string(one['code'])
  acceptor = Puppet::Pops::Validation::Acceptor.new
  factory = Puppet::Pops::Validation::ValidatorFactory_4_0.new
  factory.validator(acceptor).validate(program.model)
  fault = acceptor.errors.first or return
  message = Puppet::Pops::Validation::DiagnosticFormatterPuppetStyle.new.format_message(fault)
  place = fault.source_pos
  { message: message, line: place&.line, column: place&.pos, found: true }
rescue Puppet::ParseError => e
  message = e.respond_to?(:basic_message) ? e.basic_message : e.message
  { message: message.sub(/ \(line: \d+, column: \d+\)\z/, ''), line: e.line, column: e.pos, found: true }
rescue StandardError, SystemStackError => e
  { message: e.message, found: e.is_a?(RegexpError) }
end

Dir.mktmpdir do |directory|
  Puppet.initialize_settings(['--strict', 'error', '--confdir', directory, '--vardir', directory])
  environment = Puppet::Node::Environment.create(:production, [])
  loaders = Puppet::Pops::Loaders.new(environment)
  Puppet::Util::Log.level = :err
  Puppet.override(current_environment: environment, loaders: loaders) do
    puts JSON.generate(JSON.parse($stdin.read).map { |one| first_fault(one) })
  end
end
