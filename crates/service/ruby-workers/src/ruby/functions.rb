# Functions that Ruby code calls: the server's own, or those of the environment's modules.
module TuttiWorker
  module Functions
    # The function with a name as the environment's code sees it, or nil.
    def self.load(name, loader = nil)
      (loader || Puppet.lookup(:loaders).private_environment_loader).load(:function, name)
    end

    def self.route(scope, name, args, loader, block)
      session = Session.current
      return session.call_host(name, args, block) if session.host_function?(name)
      function = load(name, loader)
      raise ArgumentError, "Unknown function: '#{name}'" if function.nil?
      function.call(scope, *args, &block)
    end

    # A Ruby block that runs the caller's block, with the same numbers of parameters.
    def self.block(shape)
      key = shape.values_at('required', 'optional', 'rest')
      required = Array.new(shape['required']) { |index| "r#{index}" }
      optional = Array.new(shape['optional']) { |index| "o#{index} = NONE" }
      rest = shape['rest'] ? ['*rest'] : []
      given = (required + Array.new(shape['optional']) { |index| "o#{index}" }).join(', ')
      given = "[#{given}]" + (shape['rest'] ? ' + rest' : '')
      BLOCKS[key] ||= eval("lambda { |id| lambda { |#{(required + optional + rest).join(', ')}| " \
                             "Session.current.yield_to_host(id, (#{given}).reject { |x| NONE.equal?(x) }) } }", binding)
      BLOCKS[key].call(shape['id'])
    end
    NONE = Object.new.freeze
    BLOCKS = {}

    # Numbers of parameters, as Puppet infers the type of a block: those of a block that is no lambda are
    # optional.
    def self.shape(block)
      return nil if block.nil?
      kinds = block.parameters.map(&:first)
      { 'required' => kinds.count(:req), 'optional' => kinds.count(:opt), 'rest' => kinds.include?(:rest) }
    end
  end
end

class Puppet::Pops::Functions::Function
  protected

  def internal_call_function(scope, function_name, args, &block)
    TuttiWorker::Functions.route(scope, function_name.to_s, args, loader, block)
  end
end

class Puppet::Util::Log
  def self.newmessage(message)
    TuttiWorker::Session.current&.log(message.level.to_s, message.message.to_s)
  end
end

module Puppet::Pops::Lookup
  def self.lookup(name, _value_type, default_value, has_default, merge, _invocation)
    options = {}
    options['default_value'] = default_value if has_default
    options['merge'] = merge unless merge.nil?
    TuttiWorker::Session.current.call_host('lookup', [name, options], nil)
  end
end
