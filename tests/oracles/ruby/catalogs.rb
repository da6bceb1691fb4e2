# What the installed Puppet compiles for cases, each in a process of its own.
#
# Reads a JSON list of {"root", "certname", "facts", "server_facts", "trusted", "classes", "parameters",
# "plain", "exports"} from standard input (see catalog_compiler.rb); answers a list with one of these for each:
#   {"catalog": document, "plain": {"resources": .., "warnings": [..], "error": ..} without rich data, "exported": [resource, ..], "logs": [..]}
#   {"error": message, "code": issue or null, "file": .., "line": .., "column": .., "logs": [..]}
require_relative 'catalog_compiler'

# Seconds for one case.
LONGEST = 30

questions = JSON.parse($stdin.read)
prepare_puppet
answers = answers_of(questions, LONGEST) do |question|
  without_root(compile_case(question), question['root'])
end
$stdout.write("[#{answers.join(',')}]")
