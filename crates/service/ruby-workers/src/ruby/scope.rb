# Scope, compiler and catalog as functions see them: each question goes to the server, and what cannot
# be asked is refused by name.
module TuttiWorker
  module Refuse
    def method_missing(name, *_args)
      NotIsolated.refuse("#{self.class::SHOWN}.#{name}")
    end

    def respond_to_missing?(_name, _private = false)
      false
    end
  end

  class Catalog
    SHOWN = 'scope.catalog'
    include Refuse

    def tags
      Session.current.ask('ask' => 'tags')
    end

    def classes
      Session.current.ask('ask' => 'classes')
    end
  end

  class Node
    SHOWN = 'scope.compiler.node'
    include Refuse

    def name
      trusted = Session.current.scope.lookupvar('trusted')
      trusted.is_a?(Hash) ? trusted['certname'] : NotIsolated.refuse('scope.compiler.node.name')
    end
    alias certname name

    def environment
      Puppet.lookup(:current_environment)
    end
  end

  class Compiler
    SHOWN = 'scope.compiler'
    include Refuse

    def environment
      Puppet.lookup(:current_environment)
    end

    def catalog
      @catalog ||= Catalog.new
    end

    def node
      @node ||= Node.new
    end

    def topscope
      Session.current.top_scope
    end

    def add_resource(_scope, resource)
      Session.current.ask(
        'ask' => 'declare', 'type' => resource.type.to_s, 'title' => Values.dump(resource.title),
        'parameters' => Values.dump(resource.to_hash.transform_keys(&:to_s)),
        'virtual' => resource.virtual ? true : false, 'exported' => resource.exported ? true : false
      )
      resource
    end
  end

  class Scope < Puppet::Parser::Scope
    # Variables whose value cannot change during a compile.
    CONSTANT = /\A(::)?(facts|trusted|server_facts)\z/.freeze
    REFUSED = %i[
      resource source parent findresource find_hostclass find_definition find_resource_type
      find_builtin_resource_type find_defined_resource_type class_scope class_set newscope
      lookupdefaults with_global_scope with_local_scope new_ephemeral ephemeral_from set_match_data
      define_settings merge_settings set_facts set_trusted inherited_scope enclosing_scope
    ].freeze
    REFUSED.each { |name| define_method(name) { |*_args| NotIsolated.refuse("scope.#{name}") } }

    def initialize(compiler, prefix = '')
      @compiler = compiler
      @prefix = prefix
      @constant = {}
      extend Puppet::Parser::Functions.environment_module(compiler.environment)
    end

    def environment
      @compiler.environment
    end

    def lookupvar(name, _options = nil)
      unless name.is_a?(String)
        raise Puppet::ParseError, "Scope variable name #{name.inspect} is a #{name.class}, not a string"
      end
      return @constant[name] if @constant.key?(name)
      locals = Session.current.locals.reverse_each.find { |it| it.key?(name) }
      return locals[name] if locals
      found = variable(name)
      return variable_not_found(name) if found.empty?
      @constant[name] = Scope.deep_freeze(found[0]) if CONSTANT.match?(name)
      found[0]
    end

    def [](name, _options = nil)
      lookupvar(name)
    end

    # Variables that Ruby code sets live as long as the outermost call that is running.
    def setvar(name, value, _options = nil)
      locals = Session.current.locals
      if locals.any? { |it| it.key?(name) } || !variable(name).empty?
        raise Puppet::ParseError, "Cannot reassign variable '$#{name}'"
      end
      locals.last[name] = value
    end

    def []=(name, value)
      setvar(name, value)
    end

    def include?(name)
      found = variable(name.to_s)
      !found.empty? && !found[0].nil?
    end

    def exist?(name)
      !variable(name.to_s).empty?
    end
    alias bound? exist?
    alias has_local_variable? exist?

    def get_local_variable(name)
      variable(name)[0]
    end

    def to_hash(_recursive = true, _include_undef = false)
      Session.current.ask('ask' => 'variables', 'names' => nil)
    end

    def call_function(name, args, &block)
      Functions.route(self, name.to_s, args, nil, block)
    end

    def method_missing(method, *args, &block)
      name = method.to_s[/\Afunction_(.+)\z/, 1]
      NotIsolated.refuse("scope.#{method}") if name.nil?
      unless args[0].is_a?(Array)
        raise ArgumentError, 'custom functions must be called with a single array that contains the arguments. ' \
                             'For example, function_example([1]) instead of function_example(1)'
      end
      Functions.route(self, name, args[0], nil, block)
    end

    def respond_to_missing?(method, _private = false)
      method.to_s.start_with?('function_')
    end

    def self.deep_freeze(value)
      case value
      when Array then value.each { |element| deep_freeze(element) }
      when Hash then value.each_pair { |key, element| deep_freeze(key); deep_freeze(element) }
      end
      value.freeze
    end

    private

    # A list of the value, or an empty list.
    def variable(name)
      name = name.delete_prefix('::') unless @prefix.empty?
      Session.current.ask('ask' => 'variable', 'name' => @prefix + name)
    end
  end
end
