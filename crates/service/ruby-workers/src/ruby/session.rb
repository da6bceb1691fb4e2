# One compile's worth of calls, in a process of its own.
module TuttiWorker
  class Session
    class << self
      attr_accessor :current
    end
    attr_reader :scope, :top_scope, :blocks, :hiera_contexts, :locals

    def initialize(channel, directories)
      @channel = channel
      @directories = directories
      @compiler = Compiler.new
      @scope = Scope.new(@compiler)
      @top_scope = Scope.new(@compiler, '::')
      @host_functions = {}
      @blocks = {}
      @block_count = 0
      @hiera_contexts = {}
      @locals = []
      @lock = Monitor.new
    end

    def serve
      Session.current = self
      Puppet.push_context({ global_scope: @top_scope }, 'tutti session')
      loop do
        message, rich = @channel.read
        @refused = nil
        @aborted = false
        @active = true
        result, = perform(message, rich)
        # a thread that a function left may be asking
        @lock.synchronize do
          @active = false
          answer(result)
        end
      end
    end

    # Sends a question and gives its answer; calls that come instead of the answer are carried out first.
    def ask(question)
      @lock.synchronize do
        raise Abort if @aborted || !@active
        @channel.write(question)
        error = nil
        loop do
          message, rich = @channel.read
          if message.key?('op')
            error = carry_out(message, rich)
          elsif message.key?('ok')
            return Values.load(message['ok'], rich)
          elsif message.key?('raise')
            # an exception of a block passes through the function that called the block
            raise error if error && text(error.message) == message['raise']
            raise Puppet::ParseError, message['raise']
          else
            @aborted = true
            raise Abort
          end
        end
      end
    end

    def log(level, message)
      @lock.synchronize { @channel.write('log' => [level, Values.dump_string(message)]) if @active }
    rescue Values::Foreign
      nil
    end

    def host_function?(name)
      return @host_functions[name] if @host_functions.key?(name)
      @host_functions[name] = ask('ask' => 'has_function', 'name' => name)
    end

    # Functions that ignore the results of their block, which therefore may be any object.
    RESULTS_IGNORED = %w[each reverse_each slice step tree_each].freeze

    def call_host(name, args, block)
      shape = Functions.shape(block)
      if shape
        @lock.synchronize { shape['id'] = @block_count += 1 }
        @blocks[shape['id']] = [block, RESULTS_IGNORED.include?(name)]
      end
      ask('ask' => 'call', 'name' => name, 'args' => Values.dump(args), 'block' => shape)
    ensure
      @blocks.delete(shape['id']) if shape
    end

    def yield_to_host(id, args)
      ask('ask' => 'yield', 'id' => id, 'args' => Values.dump(args))
    end

    def refused(what)
      @refused ||= what
    end

    private

    # Carries out a call that comes instead of an answer, and gives its exception, if there is one.
    # `break`, `return` and `throw` in a block leave the function to which the block was passed. Then the
    # compiler ends that function, whose answer nothing waits for.
    def carry_out(message, rich)
      completed = false
      result, error = perform(message, rich)
      completed = true
      # a jump of the program that a block caused may end in the function that called the block
      @aborted = false
      answer(result)
      error
    ensure
      leave unless completed
    end

    # Tells the compiler that a block was left, and reads on until the question of the block is answered.
    def leave
      left = { 'fail' => { 'kind' => 'left' } }
      @channel.write(left)
      loop do
        message, = @channel.read
        return unless message.key?('op')
        @channel.write(left)
      end
    end

    def answer(message)
      @channel.write(message)
    rescue ArgumentError, JSON::JSONError => e
      @channel.write('fail' => { 'kind' => 'value', 'message' => e.message })
    end

    # The answer to a call, and the exception that it raised.
    def perform(message, rich)
      @locals.push({})
      value = Calls.run(self, message, rich)
      return { 'fail' => { 'kind' => 'aborted' } } if @aborted
      return { 'fail' => { 'kind' => 'not_isolated', 'message' => @refused } } if @refused
      { 'done' => value }
    rescue Exception => e
      [{ 'fail' => failure(e) }, e]
    ensure
      @locals.pop
    end

    def failure(error)
      kind = case error
             when Abort then 'aborted'
             when NotIsolated then 'not_isolated'
             when Values::Foreign then 'value'
             when SystemExit then 'exit'
             when NoMemoryError then 'memory'
             else @refused ? 'not_isolated' : 'raised'
             end
      file, line = place(error)
      message = kind == 'not_isolated' ? @refused || error.message : error.message
      { 'kind' => kind, 'message' => text(message), 'class' => text(error.class.name || 'an anonymous class'),
        'file' => file, 'line' => line }
    rescue Exception
      { 'kind' => 'raised', 'message' => 'the exception could not be read', 'class' => 'unknown', 'file' => nil, 'line' => nil }
    end

    def text(message)
      String.new(message.to_s, encoding: Encoding::UTF_8).scrub[0, 65_536]
    end

    # File and line of the innermost frame in the environment's own code.
    def place(error)
      (error.backtrace_locations || []).each do |location|
        path = location.path.to_s
        return [path, location.lineno] if @directories.any? { |directory| path.start_with?(directory) }
        return [nil, location.lineno] if path == '(erb)'
      end
      if error.is_a?(SyntaxError) && (found = error.message.match(/\A(.+?):(\d+):/)) && found[1].start_with?('/')
        return [found[1], found[2].to_i]
      end
      [nil, nil]
    end
  end
end
