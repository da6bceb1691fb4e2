# Renders ERB templates through Puppet's TemplateWrapper with a scope of variables; functions give texts
# of their names and arguments.
require 'json'
require 'puppet'
require 'puppet/parser/templatewrapper'
require 'timeout'
STDOUT.set_encoding('utf-8')
Encoding.default_external = Encoding::UTF_8

class FakeScope
  def initialize(variables)
    @variables = variables
  end

  def to_hash
    @variables.reject { |name, value| value.nil? || name.include?('::') }
  end

  def lookupvar(name, _options = {})
    name = name.sub(/\A::/, '')
    raise "unknown variable #{name}" unless @variables.key?(name)
    @variables[name]
  end
  alias [] lookupvar

  def include?(name)
    !@variables[name.sub(/\A::/, '')].nil?
  end

  def call_function(name, args)
    answer(name, args)
  end

  def method_missing(name, *args)
    name = name.to_s
    return super unless name.start_with?('function_')
    raise 'no array' unless args[0].is_a?(Array)
    answer(name.sub('function_', ''), args[0])
  end

  def setvar(name, value)
    raise "variable #{name} is set" if @variables.key?(name)

    @has_set = true
    @variables[name] = value
  end

  # Templates are named by their text where a variable was set.
  def answer(name, args)
    if name == 'template' && @has_set
      return args.map { |text| Puppet::Parser::TemplateWrapper.new(self).result(text) }.join
    end
    return args[0].to_s <=> args[1].to_s if name == 'versioncmp'
    "#{name}:#{args.length}"
  end
end

question = JSON.parse(STDIN.read)
answers = question['cases'].map do |number, variables|
  template = question['templates'][number]
  begin
    wrapper = Puppet::Parser::TemplateWrapper.new(FakeScope.new(variables))
    text = Timeout.timeout(5) { wrapper.result(template) }
    text = text.dup.force_encoding('UTF-8')
    text.valid_encoding? ? { text: text } : { error: 'invalid UTF-8' }
  rescue Exception => e
    { error: "#{e.class}: #{e.message}"[0, 300].scrub }
  end
end
puts JSON.generate(answers)
