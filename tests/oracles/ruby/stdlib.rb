# What stdlib, as Debian has it, makes of programs.
#
# Reads {"facts": {..}, "programs": [..]}; answers a list of outcomes like those of evaluate.rb. Functions
# that are deprecated only warn here, so that it is seen what they do.
require 'json'
require 'puppet'
require 'puppet_pal'

Puppet.initialize_settings(%w[--confdir /nonexistent --vardir /nonexistent])
Puppet::Util::Log.level = :crit

def printed(value)
  Puppet::Pops::Types::StringConverter.singleton.convert(value, '%p')
end

def refused(error)
  text = error.respond_to?(:basic_message) ? error.basic_message : error.message
  { error: text.sub(/ \(file: [^()]*\)\z/, '') }
end

def outcome(compiler, program)
  value = compiler.evaluate_string(program, '/case.pp')
  { value: printed(value), type: Puppet::Pops::Types::TypeCalculator.infer_set(value).to_s }
rescue StandardError, SystemStackError, Psych::SyntaxError => e
  refused(e)
end

question = JSON.parse($stdin.read)
answers = Puppet::Pal.in_tmp_environment(
  'stdlib', modulepath: ['/usr/share/puppet/modules'], facts: question['facts'],
  variables: { 'fqdn' => question['facts']['fqdn'] }
) do |environment|
  question['programs'].each_slice(500).flat_map do |programs|
    environment.with_script_compiler do |compiler|
      Puppet[:strict] = :warning
      programs.map { |program| outcome(compiler, program) }
    end
  end
end
puts JSON.generate(answers)
