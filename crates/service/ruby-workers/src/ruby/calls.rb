# The calls that a session carries out.
module TuttiWorker
  # Renders ERB as Puppet's wrapper does, but asks only for the variables that the template names.
  class Template4Erb < Puppet::Parser::TemplateWrapper
    # Code that can reach instance variables by other ways than their names.
    INDIRECT = /instance_variable|\beval|binding|\bsend\b|__send__|to_hash|method\b/.freeze

    def self.render(scope, text, path)
      wrapper = new(scope)
      wrapper.instance_variable_set(:@__file__, path)
      names = INDIRECT.match?(text) ? nil : text.scan(/@(\w+)/).flatten.uniq
      Session.current.ask('ask' => 'variables', 'names' => names).each do |name, value|
        wrapper.instance_variable_set("@#{name.gsub(/[^\w]/, '_')}", value)
      end
      wrapper.tutti_result(text)
    end

    def tutti_result(string)
      # a variable of Puppet's own method, which templates may set
      result = nil
      compiled = Template4Erb.compiled(string, @__file__)
      return send(compiled, string, Template4Erb.local_template(string, @__file__), result) if compiled
      template = Template4Erb.read(string, @__file__)
      result = template.result(binding)
      result
    end

    def self.read(text, path)
      template = Puppet::Util.create_erb(text)
      template.filename = path
      template
    end

    # The local variable `template` of Puppet's own method, for templates that may read it.
    def self.local_template(text, path)
      read(text, path) if /\btemplate\b/.match?(text)
    end

    # Methods of templates that were rendered before, by file and text. Code is compiled once then.
    COMPILED = {}
    COMPILED_MAX = 1_000

    # The name of a method with the code of a template; nil if the code is not the same as a method's body.
    def self.compiled(text, path)
      key = [path, text]
      return COMPILED[key] if COMPILED.key?(key)
      return nil if COMPILED.size >= COMPILED_MAX
      COMPILED[key] = compile(read(text, path), path)
    end

    # Nothing of the template runs here: its code is a whole program, which cannot end the method early. The
    # method has the local variables that Puppet's own method has, and the lines of the template.
    def self.compile(template, path)
      RubyVM::InstructionSequence.compile(template.src)
      name = "tutti_template_#{COMPILED.size}"
      head = "def #{name}(string, template, result)\n"
      class_eval("#{template.src.sub(/^(?!#|$)/) { head }}\nend\n", path || '(erb)', -1)
      name
    rescue ScriptError, StandardError
      nil
    end

    # Compiles a template in advance, without rendering it.
    def self.preload(path)
      text = Puppet::FileSystem.read_preserve_line_endings(path)
      compiled(text, path)
    end
  end

  # Context of Hiera's functions: interpolation and explanations are the server's.
  class HieraContext < Puppet::Pops::Lookup::Context
    def self._pcore_type
      superclass._pcore_type
    end

    def self.for(session, cache_id, module_name)
      env = Puppet.lookup(:current_environment)
      session.hiera_contexts[cache_id] ||= new(
        Puppet::Pops::Lookup::FunctionContext.new(
          Puppet::Pops::Lookup::EnvironmentContext.adapt(env), module_name, nil
        ), nil
      )
    end

    def explain
      Session.current.ask('ask' => 'explain', 'text' => yield.to_s)
      nil
    end

    def interpolate(value)
      Session.current.ask('ask' => 'interpolate', 'value' => Values.dump(value))
    end

    def invocation
      NotIsolated.refuse('context.invocation')
    end
  end

  module Calls
    def self.run(session, message, rich)
      case message['op']
      when 'function' then function(session, message, rich)
      when 'erb' then erb(session, message)
      when 'block' then block(session, message, rich)
      when 'hiera' then hiera(session, message, rich)
      when 'type' then resource_type(message['name'])
      when 'transports' then Transports.load(message['path'])
      else raise ArgumentError, "unknown call #{message['op'].inspect}"
      end
    end

    def self.function(session, message, rich)
      function = Functions.load(message['name'])
      raise ArgumentError, "Unknown function: '#{message['name']}'" if function.nil?
      block = message['block'] && Functions.block(message['block'])
      Values.dump(function.call(session.scope, *Values.load(message['args'], rich), &block))
    end

    def self.block(session, message, rich)
      block, is_result_ignored = session.blocks.fetch(message['id'])
      result = block.call(*Values.load(message['args'], rich))
      is_result_ignored ? nil : Values.dump(result)
    end

    def self.erb(session, message)
      text = message['text'] || Puppet::FileSystem.read_preserve_line_endings(message['path'])
      Values.dump_string(Template4Erb.render(session.scope, text, message['path']))
    end

    def self.hiera(session, message, rich)
      function = Functions.load(message['name'])
      raise ArgumentError, "Unknown function: '#{message['name']}'" if function.nil?
      context = HieraContext.for(session, message['cache'], message['module'])
      args = Values.load(message['args'], rich)
      found = false
      value = catch(:no_such_key) do
        result = function.call(session.top_scope, *args, context)
        found = true
        result
      end
      found ? [Values.dump(value)] : []
    end

    # What a compiler must know of a resource type, or nil.
    def self.resource_type(name)
      type = Puppet::Type.type(name.to_sym)
      return nil if type.nil?
      {
        'name' => type.name.to_s,
        'properties' => type.properties.map { |property| property.name.to_s },
        'parameters' => type.parameters.map(&:to_s),
        'namevars' => type.key_attributes.map(&:to_s),
        'title_patterns' => title_patterns(type),
        'isomorphic' => type.isomorphic? ? true : false
      }
    end

    # Each with its regular expression and the names of its groups; nil where a proc changes a value.
    def self.title_patterns(type)
      type.title_patterns.map do |pattern, names|
        names = names.map { |name| name.size == 1 ? name[0].to_s : nil }
        [pattern.source, pattern.options & Regexp::IGNORECASE != 0, pattern.options & Regexp::MULTILINE != 0,
         names.include?(nil) ? nil : names]
      end
    rescue Puppet::DevError
      []
    end
  end
end
