# What the installed Puppet makes of programs, strictly as Puppet 8 does.
#
# Reads a JSON list of programs from standard input; answers a list with one of these for each:
#   {"value": text as a program writes it, "type": inferred type}
#   {"error": message without its place, "code": issue or null, "line": .., "column": ..}
# Each has the warnings that functions gave, without their places: "warnings": [text, ..]
require 'json'
require 'timeout'
require 'puppet'
require 'puppet_pal'

Puppet.initialize_settings(%w[--confdir /nonexistent --vardir /nonexistent])
Puppet[:strict] = :error
Puppet[:strict_variables] = true
Puppet::Util::Log.level = :warning

# Keeps what is logged; Puppet has such a destination for its own tests only.
module Puppet::Test
  LogCollector = Class.new(Array)
end
LOGGED = Puppet::Test::LogCollector.new
Puppet::Util::Log.newdestination(LOGGED)

def printed(value)
  Puppet::Pops::Types::StringConverter.singleton.convert(value, '%p')
end

def refused(error)
  place = ->(name) { error.respond_to?(name) ? error.public_send(name) : nil }
  text = error.respond_to?(:basic_message) ? error.basic_message : error.message
  text = text.sub(/ \(file: [^()]*\)\z/, '')
  { error: text, code: place[:issue_code]&.to_s, line: place[:line], column: place[:pos] }
end

# Seconds for one program: generated ones may count to billions.
LONGEST = 2

def outcome(compiler, program)
  Timeout.timeout(LONGEST) do
    value = compiler.evaluate_string(program, '/case.pp')
    { value: printed(value), type: Puppet::Pops::Types::TypeCalculator.infer_set(value).to_s }
  end
rescue StandardError, SystemStackError => e
  refused(e)
end

# Warnings that are given once are given once in each program.
def observed(compiler, program)
  LOGGED.clear
  Puppet.clear_deprecation_warnings
  answer = outcome(compiler, program)
  warnings = LOGGED.select { |log| log.level == :warning }
  answer.merge(warnings: warnings.map { |log| log.message.sub(/\n   \(.*\)\z/, '') })
end

# Definitions stay in an environment, so what defines something gets one of its own.
def in_environment(name, programs)
  Puppet::Pal.in_tmp_environment(name, modulepath: [], facts: {}) do |environment|
    programs.map do |program|
      environment.with_script_compiler { |compiler| observed(compiler, program) }
    end
  end
end

groups = JSON.parse($stdin.read).each_with_index.chunk_while do |(before, _), (after, _)|
  [before, after].none? { |program| program =~ /^(function|type) / }
end
answers = groups.with_index.flat_map do |group, index|
  in_environment("oracle#{index}", group.map(&:first))
end
puts JSON.generate(answers)
