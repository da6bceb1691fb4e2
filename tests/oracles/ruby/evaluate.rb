# What the installed Puppet makes of programs, strictly as Puppet 8 does.
#
# Reads a JSON list of programs from standard input; answers a list with one of these for each:
#   {"value": text as a program writes it, "type": inferred type}
#   {"error": message without its place, "code": issue or null, "line": .., "column": ..}
require 'json'
require 'puppet'
require 'puppet_pal'

Puppet.initialize_settings(%w[--confdir /nonexistent --vardir /nonexistent])
Puppet[:strict] = :error
Puppet[:strict_variables] = true
Puppet::Util::Log.level = :crit

def printed(value)
  Puppet::Pops::Types::StringConverter.singleton.convert(value, '%p')
end

def refused(error)
  place = ->(name) { error.respond_to?(name) ? error.public_send(name) : nil }
  text = error.respond_to?(:basic_message) ? error.basic_message : error.message
  text = text.sub(/ \(file: [^()]*\)\z/, '')
  { error: text, code: place[:issue_code]&.to_s, line: place[:line], column: place[:pos] }
end

def outcome(compiler, program)
  value = compiler.evaluate_string(program, '/case.pp')
  { value: printed(value), type: Puppet::Pops::Types::TypeCalculator.infer_set(value).to_s }
rescue StandardError, SystemStackError => e
  refused(e)
end

# Definitions stay in an environment, so what defines something gets one of its own.
def in_environment(name, programs)
  Puppet::Pal.in_tmp_environment(name, modulepath: [], facts: {}) do |environment|
    programs.map do |program|
      environment.with_script_compiler { |compiler| outcome(compiler, program) }
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
