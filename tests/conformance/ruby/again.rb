# Checks of the Ruby code of the module `common` without Puppet.
#
#   ruby again.rb MODULE DIRECTORY
#
# Prints a line for each check, and ends with 1 after one that failed. DIRECTORY is new and empty.

LIBRARY = File.expand_path('lib/puppet_x/common/again', ARGV.fetch(0))
ROOT = File.expand_path(ARGV.fetch(1))
require 'rbconfig'
require 'shellwords'
%w[system store requests rerun waiter origin requester].each { |name| require File.join(LIBRARY, name) }
include PuppetX::Common::Again

# The settings of Puppet that the code reads.
module Puppet
  SETTINGS = { onetime: true, noop: false, code: '', statedir: ROOT, tags: '', skip_tags: '',
               logdest: nil }
  def self.[](name)
    SETTINGS.fetch(name) { "/settings/#{name}" }
  end
end

# No messages of the checks in the log of the machine.
module PuppetX::Common::Again::Log
  def self.write(*) end
end

def equal(wanted, found)
  raise "wanted #{wanted.inspect}, found #{found.inspect}" unless wanted == found
end

def fails(pattern)
  yield
rescue Error => e
  raise "#{e.message.inspect} does not match #{pattern.inspect}" unless e.message.match?(pattern)
else
  raise "there was no error that matches #{pattern.inspect}"
end

def check(name)
  @number = @number.to_i + 1
  yield Store.new(File.join(ROOT, "check#{@number}"))
  puts "ok      #{name}"
rescue StandardError, SystemStackError, NoMemoryError => e
  puts "failed  #{name}: #{e.class}: #{e.message}", e.backtrace.first(4)
  @failed = true
end

OPTIONS = { delta: 0, start_timer_now: true, max_runs: 10, max_delay: 1800, jitter: 0.5 }.freeze
ORIGIN = {
  'kind' => 'agent', 'environment' => 'production', 'directory' => '/',
  'program' => [RbConfig.ruby, '--disable=gems', '-e', 'exit 0'],
  'arguments' => [], 'settings' => {}
}.freeze
RUN = { 'pid' => Process.pid, 'start' => Processes.start_of(Process.pid) }.freeze

def add(state, key: 'again', scope: 'agent production', run: RUN, **options)
  Requests.add(state, scope, ORIGIN, key, OPTIONS.merge(options), run)
end

def keys(store)
  store.read['scopes'].flat_map { |_, scope| scope['requests'].keys }
end

# Moves all requests to the start of this process, which is a run that satisfies what was due by then.
def pass_start(store)
  store.update do |state|
    state['scopes'].each_value { |scope| scope['requests'].each_value { |it| it['due'] = RUN['start'] } }
  end
end

# A process that has ended.
def ended
  pid = fork { exit!(0) }
  Process.wait(pid)
  { 'pid' => pid, 'start' => 1.0 }
end

check('a pause is never shorter than delta, grows, is capped, and its jitter only adds') do
  (1..40).each do |count|
    [0, 3, 100, 5000].each do |delta|
      200.times do
        pause = Requests.pause(count: count, delta: delta, max_delay: 1800, jitter: 0.5)
        low = [delta, [5 * 2**(count - 1), 1800].min].max
        raise "#{pause} for #{count}, #{delta}" unless pause >= low && pause <= low * 1.5
      end
    end
  end
  equal 7.5, Requests.pause(count: 1, delta: 0, max_delay: 1800, jitter: 0.5, random: Struct.new(:rand).new(1.0))
  equal 0, Requests.pause(count: 9, delta: 0, max_delay: 0, jitter: 0.5)
  pauses = Array.new(50) { Requests.pause(count: 3, delta: 0, max_delay: 1800, jitter: 0.5) }
  raise 'there is no jitter' if pauses.uniq.size < 40
end

check('requests with one key are one, and the last one counts') do |store|
  store.update { |state| add(state, delta: 100) }
  store.update { |state| add(state, delta: 20, jitter: 0) }
  equal %w[again], keys(store)
  equal 20, store.read['scopes']['agent production']['requests']['again']['delta']
end

check('a run satisfies what was due when it started, and nothing else') do |store|
  store.update { |state| add(state, key: 'now', max_delay: 0, jitter: 0) }
  store.update { |state| add(state, key: 'later', delta: 100) }
  started = { 'pid' => 1, 'start' => Clock.now + 1 }
  store.update { |state| Requests.begin_run(state, 'agent production', started) }
  equal %w[later], keys(store)
  store.update { |state| Requests.begin_run(state, 'agent dev', { 'pid' => 2, 'start' => Clock.now + 1000 }) }
  equal %w[later], keys(store)
end

check('an episode counts its reruns, is capped, and ends with a run that requests nothing') do |store|
  run = 0
  begin_run = lambda do
    run += 1
    { 'pid' => run, 'start' => Clock.now }.tap do |it|
      store.update { |state| Requests.begin_run(state, 'agent production', it) }
    end
  end
  counts = Array.new(5) do
    this = begin_run.call
    result = store.update { |state| add(state, run: this, max_runs: 3) }
    store.update { |state| state['scopes']['agent production']['reruns'] += 1 } unless result[:refused]
    result[:count] || result[:refused]
  end
  equal [1, 2, 3], counts.first(3)
  raise counts.inspect unless counts.last(2).all? { |it| it.include?('3 reruns have not been enough') }

  begin_run.call
  this = begin_run.call
  equal 1, store.update { |state| add(state, run: this, max_runs: 3) }[:count]
end

check('10,000 notifications with different keys are at most 64 requests, and none waits less') do |store|
  store.update do |state|
    10_000.times { |number| add(state, key: "key #{number}", delta: number, jitter: 0) }
  end
  requests = store.read['scopes']['agent production']['requests']
  equal 64, requests.size
  equal 9999, requests.values.map { |it| it['wait'] }.max
end

check('scopes that are idle for longest are forgotten, and waiting ones never') do |store|
  store.update do |state|
    9.times do |number|
      add(state, scope: "apply #{number}")
      state['scopes']["apply #{number}"]['requests'].clear
    end
  end
  equal (1..8).map { |it| "apply #{it}" }, store.read['scopes'].keys
  store.update { |state| (1..8).each { |number| add(state, scope: "apply #{number}") } }
  fails(/8 environments or manifests wait/) { store.update { |state| add(state, scope: 'apply 10') } }
end

check('a pause counts from the end of the run, unless the timer starts now') do |store|
  store.update { |state| add(state, start_timer_now: false) }
  store.update { |state| Requests.anchor(state) }
  equal true, Requests.unanchored?(store.read)
  store.update { |state| add(state, start_timer_now: false, run: ended, delta: 30, jitter: 0) }
  before = Clock.now
  store.update { |state| Requests.anchor(state) }
  due = Requests.next_due(store.read)
  raise "due #{due - before}" unless (due - before).between?(29.9, 31)
end

check('several keys have no more reruns together than each of them allows') do |store|
  store.update do |state|
    state['scopes']['agent production'] = { 'origin' => ORIGIN, 'reruns' => 0, 'requests' => {} }
    3.times { |number| add(state, key: "key #{number}", max_delay: 0, jitter: 0, max_runs: 1 + number / 2) }
    add(state, key: 'later', delta: 100, max_runs: 1)
  end
  # a rerun for each of them; none of these ends a run, so that all stay due
  counted = Array.new(4) { store.update { |state| Requests.count(state['scopes']['agent production']) } }
  equal [true, true, false, false], counted
  scope = store.read['scopes']['agent production']
  equal [2, %w[later], 'exhausted'], [scope['reruns'], scope['requests'].keys, scope['last']['outcome']]
end

check('a rerun that could not be done is tried again with a longer pause, up to the cap') do |store|
  store.update do |state|
    add(state, max_delay: 0, jitter: 0, max_runs: 2)
    scope = state['scopes']['agent production']
    2.times do |number|
      scope['reruns'] += 1
      scope['requests'].each_value { |it| it['max_delay'] = 1800 }
      Requests.finish(scope, Clock.now + 100_000, false, 'failed: exit 1')
      equal 1 - number, scope['requests'].size
    end
    equal 'failed: exit 1', scope['last']['outcome']
  end
end

check('the date of the machine has no influence, and a new start of the machine keeps the pause') do |store|
  store.update { |state| add(state, delta: 100, jitter: 0) }
  text = File.read(store.path('state.json'))
  state = JSON.parse(text)
  request = state['scopes']['agent production']['requests']['again']
  request['due_at'] -= 86_400
  File.write(store.path('state.json'), JSON.generate(state))
  raise 'the date counts' unless Requests.next_due(store.read) > Clock.now + 90
  # another start: the date is all that is known, and never prolongs the pause
  state['boot_id'] = 'another'
  request['due_at'] += 30 * 86_400
  File.write(store.path('state.json'), JSON.generate(state))
  left = Requests.next_due(store.read) - Clock.now
  raise "#{left} s are left" unless left.between?(99, 100)

  request['due_at'] = 0
  File.write(store.path('state.json'), JSON.generate(state))
  raise 'it is not due' unless Requests.due(store.read)

  # the new time is written, and the first run of this start satisfies what was due before
  store.update { |_| }
  equal Clock.boot_id, JSON.parse(File.read(store.path('state.json')))['boot_id']
  store.update { |it| Requests.begin_run(it, 'agent production', RUN.merge('pid' => 1)) }
  equal [], keys(store)
end

DAMAGE = {
  'nothing' => '', 'no JSON' => 'garbage', 'a list' => '[]', 'a number' => '7', 'NUL' => "\0" * 100,
  'no UTF-8' => "{\"format\":1,\"boot_id\":\"\xff\"}", 'deep lists' => '[' * 100_000,
  'another format' => '{"format":2,"boot_id":"","scopes":{}}',
  'scopes that are none' => '{"format":1,"boot_id":"","scopes":{"a":1}}',
  'no program' => '{"format":1,"boot_id":"","scopes":{"a":{"origin":{"kind":"agent","environment":"",' \
                  '"directory":"/","program":[],"arguments":[],"settings":{}},"reruns":0,"requests":{}}}}',
  'a huge number' => '{"format":1,"boot_id":"","scopes":{"a":{"origin":{},"reruns":1e999,"requests":{}}}}',
  '50 MB' => '{"format":1,' + ' ' * 50_000_000 + '"boot_id":"","scopes":{}}'
}.freeze

# A valid state with one request, changed by the block.
def damage
  state = { 'format' => 1, 'boot_id' => Clock.boot_id, 'scopes' => {} }
  add(state)
  scope = state['scopes']['agent production']
  scope['origin'] = scope['origin'].dup
  yield state, scope, scope['requests']['again'] = scope['requests']['again'].dup
  JSON.generate(state)
end

TYPES = {
  'runs' => damage { |state| state['runs'] = [{ 'pid' => 'x' }] },
  'the run of a scope' => damage { |_, scope| scope['run'] = [1] },
  'the start of the run of a scope' => damage { |_, scope| scope['run'] = { 'pid' => 1, 'start' => 'x' } },
  'the daemon' => damage { |_, scope| scope['origin']['daemon'] = 7 },
  'the id of the daemon' => damage { |_, scope| scope['origin']['daemon'] = { 'pid' => [], 'start' => 1 } },
  'the variables' => damage { |_, scope| scope['origin']['variables'] = { 'PATH' => 1 } },
  'the run of a request' => damage { |_, _, request| request['run'] = { 'pid' => '1' } },
  'the start of the run of a request' => damage { |_, _, request| request['run'] = { 'pid' => 1, 'start' => {} } }
}.transform_keys { |it| "another type: #{it}" }.freeze

DAMAGE.merge(TYPES).each do |name, text|
  check("a damaged state is replaced by the next request: #{name}") do |store|
    store.prepare
    File.binwrite(store.path('state.json'), text)
    equal({}, store.read['scopes'])
    store.update { |state| add(state) }
    equal %w[again], keys(store)
  end
end

check('a link, a pipe and a socket in place of the state are replaced, and never followed') do |store|
  store.prepare
  precious = File.join(ROOT, 'precious')
  File.write(precious, 'precious')
  [-> { File.symlink(precious, store.path('state.json')) }, -> { File.mkfifo(store.path('state.json')) },
   -> { File.symlink('/dev/zero', store.path('state.json')) }].each do |make|
    File.unlink(store.path('state.json')) if File.exist?(store.path('state.json'))
    make.call
    store.update { |state| add(state) }
    equal 'file', File.lstat(store.path('state.json')).ftype
    equal 'precious', File.read(precious)
  end
  File.symlink(precious, store.path('state.json.new'))
  store.update { |state| add(state, key: 'more') }
  equal 'precious', File.read(precious)
end

check('a directory in place of the state, and links in place of locks, are named in the error') do |store|
  store.prepare
  Dir.mkdir(store.path('state.json'))
  fails(%r{cannot write .*/state\.json}) { store.update { |state| add(state) } }
  Dir.rmdir(store.path('state.json'))
  File.unlink(store.path('lock'))
  File.symlink('/nonexistent', store.path('lock'))
  fails(%r{cannot open .*/lock}) { store.update { |state| add(state) } }
  File.unlink(store.path('lock'))
  File.mkfifo(store.path('lock'))
  fails(%r{/lock}) { store.update { |state| add(state) } }
end

check('a link or a file in place of the directory is refused') do |store|
  File.symlink('/tmp', store.directory)
  fails(/is not a directory/) { store.update { |state| add(state) } }
  File.unlink(store.directory)
  File.write(store.directory, '')
  fails(/is not a directory/) { store.update { |state| add(state) } }
end

check('others can neither read nor write the requests') do |store|
  store.prepare
  File.chmod(0o777, store.directory)
  store.update { |state| add(state) }
  equal 0o700, File.stat(store.directory).mode & 0o777
  equal 0o600, File.stat(store.path('state.json')).mode & 0o777
end

check('a state and locks that belong to another user are not trusted') do |store|
  store.update { |state| add(state) }
  begin
    File.chown(65_534, nil, store.path('state.json'))
  rescue SystemCallError
    puts 'SKIPPED: only root can give a file away'
    next
  end
  equal [], keys(store)
  store.update { |state| add(state, key: 'more') }
  equal [%w[more], 0], [keys(store), File.stat(store.path('state.json')).uid]
  File.chown(65_534, nil, store.path('lock'))
  fails(%r{/lock belongs to the user 65534}) { store.update { |state| add(state) } }
  File.chown(65_534, nil, store.directory)
  fails(/belongs to the user 65534/) { store.update { |state| add(state) } }
end

# Ends the process at a call of a method.
def killed_before(klass, method, store)
  pid = fork do
    klass.class_eval { define_method(method) { |*| Process.kill('KILL', Process.pid) } }
    store.update { |state| add(state, key: 'killed') }
    exit!(0)
  end
  Process.wait(pid)
  $?.termsig
end

WRITES = {
  'before the lock' => [File.singleton_class, :lstat], 'after the lock' => [JSON.singleton_class, :parse],
  'before the new file' => [File.singleton_class, :unlink], 'in the new file' => [File, :write],
  'before it is on the disk' => [File, :fsync], 'before it replaces the old one' => [File.singleton_class, :rename]
}.freeze

WRITES.each do |name, (klass, method)|
  check("a process that is killed leaves the old state: #{name}") do |store|
    store.update { |state| add(state) }
    equal 9, killed_before(klass, method, store)
    equal %w[again], keys(store)
    store.update { |state| add(state, key: 'more') }
    equal %w[again more], keys(store)
  end
end

check('a process that is killed after its write leaves the new state') do |store|
  pid = fork do
    calls = 0
    original = File.instance_method(:fsync)
    File.class_eval do
      # the second call is that of the directory, after the rename
      define_method(:fsync) { (calls += 1) > 1 ? Process.kill('KILL', Process.pid) : original.bind(self).call }
    end
    store.update { |state| add(state, key: 'killed') }
  end
  Process.wait(pid)
  equal 9, $?.termsig
  equal %w[killed], keys(store)
end

check('a full disk fails the request, names the file, and keeps the old state') do |store|
  Dir.mkdir(store.directory)
  unless Process.euid.zero? && system('mount', '-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', store.directory)
    puts 'SKIPPED: a full disk needs a mount of its own'
    next
  end

  begin
    store.update { |state| add(state) }
    File.open(store.path('filler'), 'w') { |file| loop { file.syswrite('x' * 4096) } } rescue Errno::ENOSPC
    fails(/cannot write .*state\.json: No space left/) do
      store.update { |state| 60.times { |number| add(state, key: "more #{number}") } }
    end
    equal %w[again], keys(store)
    equal false, File.exist?(store.path('state.json.new'))
  ensure
    system('umount', '-l', store.directory)
  end
end

check('eight writers at once lose nothing') do |store|
  pids = Array.new(8) do |writer|
    fork { 8.times { |number| store.update { |state| add(state, key: "#{writer} #{number}") } } && exit!(0) }
  end
  pids.each { |pid| Process.wait(pid) }
  equal 64, keys(store).size
end

check('a process is known by its id and its start') do
  pid = fork { sleep }
  start = Processes.start_of(pid)
  equal true, Processes.alive?(pid, start)
  equal false, Processes.alive?(pid, start - 10)
  Process.kill('KILL', pid)
  # ended and not yet waited for
  loop { break if File.read("/proc/#{pid}/stat").include?(') Z ') }
  equal false, Processes.alive?(pid)
  Process.wait(pid)
  equal false, Processes.alive?(pid, start)
  [nil, 0, -1, 'x', 2**40].each { |it| equal false, (Processes.alive?(it) rescue false) }
end

check('the end of a process that is no child is an event, also without a descriptor of it') do
  [false, true].each do |without|
    Processes.singleton_class.send(:define_method, :descriptor) { |_| nil } if without
    wake = Wake.new
    reader, writer = IO.pipe
    child = fork do
      grandchild = fork { sleep 0.3 }
      writer.puts grandchild
      exit!(0)
    end
    Process.wait(child)
    pid = Integer(reader.gets)
    equal true, Processes.await_end(pid, wake, 60)
    other = fork { sleep }
    Process.kill('USR1', Process.pid)
    equal false, Processes.await_end(other, wake, 60)
    Process.kill('KILL', other)
    Process.wait(other)
  end
end

# Waits until the block is true.
def eventually(what)
  deadline = Clock.now + 20
  until yield
    raise "in 20 seconds #{what}" if Clock.now > deadline

    sleep 0.05
  end
end

# A waiter as a child process.
def start_waiter(store)
  reader, writer = IO.pipe
  pid = fork do
    reader.close
    Waiter.new(store.directory, writer).run
    exit!(0)
  end
  writer.close
  [pid, reader.gets]
end

check('a waiter whose run has ended waits, and one that fails says why') do |store|
  store.update { |state| add(state, max_delay: 0, jitter: 0) }
  reader, writer = IO.pipe
  reader.close
  Waiter.new(store.directory, writer).run
  equal 1, store.read['scopes']['agent production']['reruns']

  logged = []
  Log.define_singleton_method(:warning) { |message| logged << message }
  store.update { |state| add(state) }
  waiter = Waiter.new(store.directory, File.open(File::NULL, 'w'))
  waiter.define_singleton_method(:decide) { |_| raise TypeError, 'of another kind' }
  waiter.run
  equal ['reruns of Puppet stop: TypeError: of another kind'], logged
end

check('a process that a run leaves behind delays no rerun') do |store|
  left = IO.pipe
  run = fork do
    requester = Requester.new(Origin.new('production', argv: %w[agent -t], program: '/bin/true'),
                              directory: store.directory)
    def requester.ensure_waiter; end
    requester.request('again', OPTIONS.merge(max_delay: 0, start_timer_now: false))
    # without `exec`, as a provider may do
    left[1].puts(fork { sleep })
    exit!(0)
  end
  Process.wait(run)
  begin
    store.update { |state| state['scopes'].each_value { |it| it['origin'] = ORIGIN } }
    pid, answer = start_waiter(store)
    equal "ready\n", answer
    eventually('the waiter did not end') { Process.wait(pid, Process::WNOHANG) }
    equal 'unchanged', store.read['scopes']['agent production']['last']['outcome']
  ensure
    Process.kill('KILL', Integer(left[0].gets))
  end
end

check('a rerun waits for the end of a run that is in progress, whatever it has requested') do |store|
  run = fork { sleep }
  process = { 'pid' => run, 'start' => Processes.start_of(run) }
  store.update do |state|
    add(state, max_delay: 0)
    Requests.note_run(state, ended)
    Requests.note_run(state, process)
    equal [process], state['runs']
  end
  pid, = start_waiter(store)
  sleep 0.3
  equal 0, store.read['scopes']['agent production']['reruns']
  Process.kill('KILL', run)
  Process.wait(run)
  eventually('the waiter did not end') { Process.wait(pid, Process::WNOHANG) }
  equal 1, store.read['scopes']['agent production']['reruns']
end

check('arguments of a rerun are those of a single run, without those of a job') do
  origin = lambda do |*argv|
    Origin.new('production', argv: argv, program: '/bin/true').to_h['arguments']
  end
  equal %w[agent --verbose --logdest syslog --onetime --no-daemonize --no-splay --detailed-exitcodes],
        origin.call('agent', '--onetime', '--splay', '--job-id', '7', '--verbose', '--lastrunreport', '/spool/x')
  equal %w[agent --environment dev --logdest syslog --onetime --no-daemonize --no-splay --detailed-exitcodes],
        origin.call('agent', '-D', '--job_id=7', '--use_cached_catalog', '--environment', 'dev')
  equal %w[apply x.pp --logdest syslog --detailed-exitcodes], origin.call('apply', '--detailed-exitcodes', 'x.pp')
  [%w[-l /log], %w[--logdest /log], %w[--logdest=/log]].each do |words|
    equal ['apply', 'x.pp', *words, '--detailed-exitcodes'], origin.call('apply', 'x.pp', *words)
  end
  Puppet::SETTINGS[:logdest] = '/log'
  equal %w[apply x.pp --detailed-exitcodes], origin.call('apply', 'x.pp')
  Puppet::SETTINGS[:logdest] = nil
  once = origin.call('agent', '-t')
  equal once, origin.call(*once)
end

check('only runs that can be repeated request reruns') do
  origin = ->(*argv) { Origin.new('production', argv: argv, program: '/bin/true') }
  equal nil, origin.call('agent', '-t').obstacle
  raise 'other programs' unless origin.call('resource', 'file').obstacle.include?('puppet apply')

  Puppet::SETTINGS[:noop] = true
  raise 'noop' unless origin.call('agent', '-t').obstacle.include?('noop')

  Puppet::SETTINGS[:noop] = false
  Puppet::SETTINGS[:code] = 'notify { x: }'
  fails(/standard input/) { origin.call('apply').check }
  origin.call('apply', '-e', 'notify { x: }').check
  Puppet::SETTINGS[:code] = ''
  fails(/standard input/) { origin.call('apply', '--catalog', '-').check }
  fails(/not UTF-8/) { origin.call('apply', "\xff.pp").check }
  fails(/longer than/) { origin.call('apply', '-e', 'x' * 40_000).check }
end

check('a run of some tags satisfies its own requests only, and ends its own episodes') do |store|
  origin = Origin.new('production', argv: %w[agent -t], program: '/bin/true')
  scopes = { '' => ['', ''], 'ntp' => ['ntp', ''], 'without ntp' => ['', 'ntp'], 'both' => ['a', 'b'] }
  scopes = scopes.transform_values do |tags, skipped|
    Puppet::SETTINGS.update(tags: tags, skip_tags: skipped)
    origin.scope
  end
  equal 'agent production', scopes['']
  equal 4, scopes.values.uniq.size
  Puppet::SETTINGS.update(tags: ' ntp , ntp', skip_tags: '')
  equal scopes['ntp'], origin.scope

  requester = -> { Requester.new(origin, directory: store.directory).tap { |it| def it.ensure_waiter; end } }
  requester.call.request('again', OPTIONS.merge(max_delay: 0))
  store.update { |state| add(state, max_delay: 0, jitter: 0) }
  store.update { |state| state['scopes'].each_value { |it| it.update('reruns' => 10, 'run' => {}) } }
  pass_start(store)
  2.times do
    requester.call.begin_run
    store.update { |state| state['scopes'][scopes['ntp']]['run'] = {} }
  end
  state = store.read['scopes']
  equal [0, 0], [state[scopes['ntp']]['reruns'], state[scopes['ntp']]['requests'].size]
  equal [10, 1], [state['agent production']['reruns'], state['agent production']['requests'].size]
  Puppet::SETTINGS.update(tags: '', skip_tags: '')
end

check('locks and reasons of any content are read') do |store|
  store.prepare
  lock = store.path('run')
  disabled = store.path('disabled')
  settings = { 'agent_catalog_run_lockfile' => lock, 'agent_disabled_lockfile' => disabled }
  rerun = Rerun.new(ORIGIN.merge('settings' => settings), Wake.new)
  equal nil, rerun.find_holder
  equal nil, rerun.explain_disabled
  ['', 'x', '-1', '99999999999999999999', "\0\xff", '9' * 1_000_000, Process.ppid.to_s].each do |text|
    File.binwrite(lock, text)
    # a process that is not Puppet has not got the lock
    equal nil, rerun.find_holder
  end
  { '{"disabled_message":"work"}' => 'work', '' => 'without a reason', '[]' => 'without a reason',
    '{"disabled_message":["x"]}' => '["x"]', '{' * 100_000 => 'without a reason' }.each do |text, reason|
    File.binwrite(disabled, text)
    equal reason, rerun.explain_disabled
  end
end

# A process that is Puppet by its arguments, and runs this code at a signal.
def puppet_process(code)
  pid = Process.spawn(RbConfig.ruby, '-e', "Signal.trap('USR1') { #{code}; exit!(0) }; $stdout.puts; " \
                                           "$stdout.flush; sleep", 'puppet', out: (pipe = IO.pipe)[1])
  pipe[1].close
  pipe[0].gets
  pid
end

def settings(store)
  { 'agent_catalog_run_lockfile' => store.path('run_lock'), 'lastrunfile' => store.path('summary') }
end

# What a rerun by a daemon says that runs this code at the signal.
def tell_daemon(store, code)
  daemon = puppet_process(code)
  process = { 'pid' => daemon, 'start' => Processes.start_of(daemon) }
  origin = ORIGIN.merge('kind' => 'daemon', 'daemon' => process, 'settings' => settings(store))
  waiting = Thread.new { Process.wait(daemon) }
  Rerun.new(origin, Wake.new).perform(Clock.now) { nil }
ensure
  waiting.join
end

SUMMARY = "---\nresources:\n  changed: 1\n  total: 5\n".freeze

check('a rerun by a daemon ends with its run, and not with an older summary') do |store|
  store.prepare
  File.write(store.path('summary'), SUMMARY)
  fail_run = "File.write('#{store.path('run_lock')}', $$); sleep 0.2; " \
             "Process.kill('USR1', #{Process.pid}); sleep 1; File.write('#{store.path('ended')}', '')"
  equal [false, 'failed: the run of the daemon applied no catalog'], tell_daemon(store, fail_run)
  equal true, File.exist?(store.path('ended'))

  replace = "File.write('#{store.path('new')}', #{SUMMARY.inspect}); " \
            "File.rename('#{store.path('new')}', '#{store.path('summary')}')"
  File.unlink(store.path('run_lock'))
  # the whole run is between two looks
  equal [true, 'done by the daemon'], tell_daemon(store, replace)
end

check('a rerun that finds another run in progress waits for its end, and is not done') do |store|
  store.prepare
  other = puppet_process('sleep 0.5')
  File.write(store.path('run_lock'), other)
  Process.kill('USR1', other)
  waiting = Thread.new { Process.wait(other) }
  origin = ORIGIN.merge('program' => [*ORIGIN['program'][0, 3], 'exit 1'], 'settings' => settings(store))
  rerun = Rerun.new(origin, Wake.new)
  equal [false, 'not run: another run of the agent was in progress'], rerun.perform(Clock.now) { nil }
  equal false, Processes.alive?(other)
  waiting.join
end

check('requests of a run of an orchestrator are left to it, with those that the node had') do |store|
  entry = File.join(ROOT, 'entry')
  FileUtils.mkdir_p(File.join(entry, 'puppet'))
  file = File.join(entry, 'reruns.jsonl')
  Puppet::SETTINGS[:lastrunreport] = File.join(entry, 'puppet', 'last_run_report.yaml')
  ENV['TUTTI_RERUN_REQUESTS'] = file
  origin = Origin.new('production', argv: ['agent'])
  requester = Requester.new(origin, directory: store.directory)
  lines = -> { File.readlines(file).map { |line| JSON.parse(line) } }
  equal(:notice, requester.request('peers', OPTIONS.merge(delta: 120))[0])
  requester.request('peers', OPTIONS.merge(delta: 120))
  requester.request('peers', OPTIONS.merge(delta: 7))
  equal([120, 7].map { |it| { 'key' => 'peers', 'delta_s' => it } }, lines.call)
  equal(0o600, File.stat(file).mode & 0o777)
  equal(false, store.exist?)

  store.update { |state| add(state, key: 'old', delta: 600) }
  Requester.new(origin, directory: store.directory).begin_run
  equal([], keys(store))
  taken = lines.call.last
  equal('old', taken['key'])
  raise "only #{taken['delta_s']} seconds are left" unless taken['delta_s'] > 590

  # the episode of the node goes on, so that max_runs is not counted anew
  store.update { |state| state['scopes']['agent production'].update('reruns' => 3, 'requested' => false) }
  Requester.new(origin, directory: store.directory).request('peers', OPTIONS)
  equal(true, store.read['scopes']['agent production']['requested'])

  # a program that the run starts has the variable too, but is another run
  Puppet::SETTINGS[:lastrunreport] = File.join(ROOT, 'last_run_report.yaml')
  equal(nil, Requester.new(origin, directory: store.directory).send(:reported))
  Puppet::SETTINGS[:lastrunreport] = File.join(entry, 'puppet', 'last_run_report.yaml')
  apply = Origin.new('production', argv: ['apply', 'x.pp'])
  equal(nil, Requester.new(apply, directory: store.directory).send(:reported))

  # a run whose directory is gone fails the resource, and says why
  FileUtils.rm_rf(entry)
  begin
    Requester.new(origin, directory: store.directory).request('again', OPTIONS)
    raise 'there was no error'
  rescue Errno::ENOENT
    nil
  end
  ENV.delete('TUTTI_RERUN_REQUESTS')
end

check('a rerun has the variables of the run that requested it') do |store|
  store.prepare
  set = { 'FACTER_tier' => 'gold', 'https_proxy' => 'http://proxy', 'LC_ALL' => 'C.UTF-8', 'SECRET' => 'x',
          'FACTER_huge' => 'x' * 10_000, 'FACTER_bytes' => "\xff" }
  ENV.update(set)
  variables = Origin.new('production', argv: %w[agent -t], program: '/bin/true').to_h['variables']
  set.each_key { |name| ENV.delete(name) }
  equal set.keys.first(3), variables.keys & set.keys
  equal ENV['PATH'], variables['PATH']

  ENV['FACTER_of_another'] = 'x'
  program = [RbConfig.ruby, '-e', "File.write('#{store.path('seen')}', Marshal.dump(ENV.to_h))"]
  [variables, {}].each do |it|
    equal [true, 'unchanged'], Rerun.new(ORIGIN.merge('program' => program, 'variables' => it), Wake.new).perform(0)
    seen = Marshal.load(File.binread(store.path('seen')))
    equal it.empty? ? { 'PATH' => Rerun::PATH } : it, seen.reject { |name, _| name == 'LC_CTYPE' }
  end
  ENV.delete('FACTER_of_another')
end

exit(1) if @failed
