# The process of one environment version: loads Puppet and the environment, and forks a session for each compile.
module TuttiWorker
  class Template
    SYSCALL_PRCTL = { 'x86_64' => 157, 'aarch64' => 167 }[RbConfig::CONFIG['host_cpu']]
    PR_SET_PDEATHSIG = 1
    PR_SET_CHILD_SUBREAPER = 36
    SIGKILL = 9

    def initialize(control)
      @control = control
      @sessions = {}
      @ended = {}
    end

    def run
      @wake, signal = IO.pipe
      trap('CHLD') { signal.write_nonblock('.', exception: false) }
      TERMINATING.each { |name| trap(name, 'IGNORE') }
      prctl(PR_SET_CHILD_SUBREAPER, 1)
      loop do
        ready, = IO.select([@control, @wake])
        reap
        handle(@control.frame) if ready.include?(@control)
      end
    ensure
      finish
    end
    TERMINATING = %w[INT HUP PIPE].freeze

    private

    def handle(message)
      case message['op']
      when 'setup' then answer { setup(message) }
      when 'fork' then answer { { 'pid' => start_session(message) } }
      when 'end' then answer { { 'status' => end_session(message['pid']) } }
      else finish
      end
    end

    def answer
      reply(yield)
    rescue Exception => e
      finish if e.is_a?(SystemExit)
      reply('fail' => "#{e.class}: #{e.message}".dup.force_encoding('UTF-8').scrub[0, 4096])
    end

    def reply(message)
      @control.reply(message)
    rescue SystemCallError
      finish
    end

    def setup(message)
      directory = message['directory']
      unless File.readable?(directory)
        raise "the user with uid #{Process.uid} cannot read #{directory}; let it, or run Ruby as another user (catalogs.ruby_user)"
      end
      settings = message['settings'].map { |name, value| "--#{name}=#{value}" }
      Puppet.initialize_settings(settings, false)
      Puppet.settings.preferred_run_mode = :master
      paths = message['module_directories']
      env = Puppet::Node::Environment.create(message['environment'].to_sym, paths, Puppet::Node::Environment::NO_MANIFEST)
      loaders = Puppet::Pops::Loaders.new(env)
      Puppet.push_context(
        { current_environment: env, loaders: loaders, environments: Puppet::Environments::Static.new(env) }, 'tutti environment'
      )
      $LOAD_PATH.concat(env.modules.map { |part| File.join(part.path, 'lib') }.select { |path| File.directory?(path) })
      loaders.private_environment_loader.load(:function, 'tutti_function_that_does_not_exist')
      @directories = [message['directory'], *paths].map { |path| "#{path.chomp('/')}/" }
      STDERR.reopen(File::NULL)
      GC.start
      { 'puppet' => Puppet.version, 'ruby' => RUBY_VERSION }
    end

    def start_session(message)
      socket = @control.recv_io(UNIXSocket)
      output = @control.recv_io(IO)
      preload(message['preload'])
      pid = Process.fork { session(socket, output, message) }
      @sessions[pid] = true
      pid
    ensure
      socket&.close
      output&.close
    end

    def preload(names)
      names.each do |kind, name|
        kind == 'erb' ? Template4Erb.preload(name) : Functions.load(name)
      rescue StandardError, ScriptError
        nil
      end
    end

    def session(socket, output, message)
      prctl(PR_SET_PDEATHSIG, SIGKILL)
      Process.setsid
      trap('CHLD', 'DEFAULT')
      TERMINATING.each { |name| trap(name, 'DEFAULT') }
      [@control, @wake].each(&:close)
      STDOUT.reopen(output)
      STDERR.reopen(output)
      output.close
      STDOUT.sync = true
      Process.setrlimit(:CORE, 0)
      Process.setrlimit(:DATA, message['memory'])
      Process.setrlimit(:NPROC, message['processes']) if message['processes']
      Session.new(Channel.new(socket, message['frame']), @directories).serve
    rescue Exception
      nil
    ensure
      Process.exit!(1)
    end

    # Ends a session with the processes that its functions started; gives how it ended.
    def end_session(pid)
      status = @ended.delete(pid)
      if status.nil? && @sessions.key?(pid)
        kill(-pid)
        kill(pid)
        status = describe(Process.wait2(pid)[1])
      end
      @sessions.delete(pid)
      kill_strays
      reap
      status
    end

    # Processes that outlived their session became children of this process, and so do their own when they end.
    def kill_strays
      ROUNDS_MAX.times do
        strays = Dir.glob('/proc/self/task/*/children').flat_map { |file| File.read(file).split.map(&:to_i) }
        strays.reject! { |pid| @sessions.key?(pid) }
        break if strays.empty?
        strays.each { |pid| kill(pid) }
        strays.each { |pid| Process.wait(pid) }
      end
    rescue SystemCallError
      nil
    end
    ROUNDS_MAX = 20

    def reap
      @wake.read_nonblock(4096, exception: false)
      while (pid, status = Process.wait2(-1, Process::WNOHANG))
        @ended[pid] = describe(status) if @sessions.delete(pid)
      end
    rescue Errno::ECHILD
      nil
    end

    def describe(status)
      status.signaled? ? "by signal #{status.termsig}" : "with exit code #{status.exitstatus}"
    end

    def finish
      @sessions.each_key { |pid| kill(-pid); kill(pid) }
      @sessions.clear
      kill_strays
    ensure
      Process.exit!(0)
    end

    def kill(pid)
      Process.kill(:KILL, pid)
    rescue SystemCallError
      nil
    end

    def prctl(option, value)
      syscall(SYSCALL_PRCTL, option, value, 0, 0, 0) if SYSCALL_PRCTL
    rescue SystemCallError
      nil
    end
  end
end
