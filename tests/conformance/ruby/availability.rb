# Checks of the Ruby code of the module `availability` without Puppet, against servers of this process.
#
#   ruby availability.rb MODULE DIRECTORY [NAME=PORT…]
#
# Prints a line for each check, and ends with 1 after one that failed. DIRECTORY is new and empty. `ready` and `starting`
# are ports of PostgreSQL; without them, nothing of PostgreSQL is checked but its protocol.

LIBRARY = File.expand_path('lib/puppet_x/availability', ARGV.fetch(0))
ROOT = File.expand_path(ARGV.fetch(1))
POSTGRES = ARGV.drop(2).map { |word| word.split('=') }.to_h
%w[provider tcp_probe http_probe postgres_probe].each { |name| require File.join(LIBRARY, name) }
include PuppetX::Availability

# The setting of Puppet that the code reads.
module Puppet
  class Error < StandardError; end

  def self.[](name)
    File.join(ROOT, "#{name}.pem")
  end
end

Secret = Struct.new(:unwrap)

# A resource with its attributes and its log.
class Resource
  attr_reader :log, :tags

  def initialize(attributes, tags: [], noop: false, &on_info)
    @attributes = attributes
    @tags = tags
    @noop = noop
    @log = []
    @on_info = on_info
  end

  def [](name)
    @attributes[name]
  end

  def ref
    'Service[x]'
  end

  def noop?
    @noop
  end

  def info(text)
    @log << text
    @on_info&.call
  end

  def warning(text)
    @log << "warning: #{text}"
  end
end

# A provider as Puppet makes it.
class TestProvider
  include PuppetX::Availability::Provider

  attr_reader :resource

  def initialize(probe, resource)
    @probe = probe
    @resource = resource
  end

  def probe(attributes)
    @probe.new(attributes)
  end
end

def equal(wanted, found)
  raise "wanted #{wanted.inspect}, found #{found.inspect}" unless wanted == found
end

def check(name)
  threads = Thread.list
  yield
  puts "ok      #{name}"
rescue StandardError, NoMemoryError => e
  puts "failed  #{name}: #{e.class}: #{e.message}", e.backtrace.first(4)
  @failed = true
ensure
  (Thread.list - threads).each(&:kill)
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Listens on a free port of the loopback, and calls the block in a thread for each connection.
def serve(listener = TCPServer.new('127.0.0.1', 0))
  thread = Thread.new do
    loop do
      socket = listener.accept
      Thread.new do
        yield socket
      rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
        nil
      ensure
        socket.close
      end
    end
  end
  thread.report_on_exception = false
  listener.local_address.ip_port
end

def provider(probe, port, more = {}, **options, &on_info)
  attributes = { host: '127.0.0.1', port: port, timeout: 1, ping_interval: 0.1 }.merge(more)
  TestProvider.new(probe, Resource.new(attributes, **options, &on_info))
end

# The log of a service that is available, however long a busy machine takes to answer.
def available(probe, port, more = {}, **options, &on_info)
  it = provider(probe, port, { timeout: 60 }.merge(more), **options, &on_info)
  return it.resource.log if it.exists?

  it.create
end

# The message of the error, after all attempts.
def failure(probe, port, more = {})
  it = provider(probe, port, more)
  raise 'the service is available' if it.exists?

  it.create
rescue Puppet::Error => e
  e.message
end

# The warning of the only attempt, after at most `most` seconds.
def warning(probe, port, more = {}, most: more.fetch(:timeout, 1) + 1)
  start = now
  it = provider(probe, port, more, noop: true)
  raise 'the service is available' if it.exists?

  message = it.resource.log.fetch(0).delete_prefix('warning: ')
  raise "after #{now - start} s: #{message}" if now - start > most

  message
end

def fails(pattern, *rest, **options)
  message = warning(*rest, **options)
  raise "#{message.inspect} does not match #{pattern.inspect}" unless message.match?(pattern)
end

# An HTTP server that answers with these bytes after the request, and the requests.
def http(answer)
  requests = Queue.new
  port = serve do |socket|
    requests << socket.readpartial(4096)
    socket.write(answer)
  end
  [port, requests]
end

def closed_port
  listener = TCPServer.new('127.0.0.1', 0)
  listener.local_address.ip_port
ensure
  listener.close
end

# A CA, and a certificate of 127.0.0.1 and localhost that it issued.
def certificates
  @certificates ||= begin
    ca, ca_key = certificate('CA', nil, nil)
    [ca, certificate('server', ca, ca_key)].tap { File.write(Puppet[:localcacert], ca.to_pem) }
  end
end

def certificate(name, issuer, issuer_key)
  key = OpenSSL::PKey::RSA.new(2048)
  made = OpenSSL::X509::Certificate.new
  made.version = 2
  made.serial = issuer ? 2 : 1
  made.subject = OpenSSL::X509::Name.new([['CN', name]])
  made.issuer = issuer ? issuer.subject : made.subject
  made.public_key = key.public_key
  made.not_before = Time.now - 3600
  made.not_after = Time.now + 3600
  factory = OpenSSL::X509::ExtensionFactory.new(issuer || made, made)
  made.add_extension(factory.create_extension('basicConstraints', issuer ? 'CA:FALSE' : 'CA:TRUE', true))
  made.add_extension(factory.create_extension('subjectAltName', 'IP:127.0.0.1,DNS:localhost')) if issuer
  made.sign(issuer_key || key, OpenSSL::Digest.new('SHA256'))
  [made, key]
end

def tls_context
  _, (certificate, key) = certificates
  OpenSSL::SSL::SSLContext.new.tap do |context|
    context.cert = certificate
    context.key = key
  end
end

def https(answer)
  context = tls_context
  serve do |socket|
    tls = OpenSSL::SSL::SSLSocket.new(socket, context)
    tls.accept
    tls.readpartial(4096)
    tls.write(answer)
    tls.close
  end
end

OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".freeze

check('an open port is available, by name and by address') do
  port = serve { |socket| socket.read }
  equal [], available(TcpProbe, port)
  equal [], available(TcpProbe, port.to_s, { host: 'localhost' })
end

check('a closed port names the place, the cause and the next step') do
  port = closed_port
  message = failure(TcpProbe, port)
  raise message unless message.match?(/\A127\.0\.0\.1:#{port} is not available after \d+ attempts? in 1 s: connection refused\. Make /)
end

check('the cause of an earlier attempt is told, and not the end of the time') do
  answers = Queue.new
  answers << "HTTP/1.1 503 Service Unavailable\r\n\r\n"
  port = serve do |socket|
    socket.write(answers.pop)
    socket.read
  end
  message = failure(HttpProbe, port)
  raise message unless message.include?('after 2 attempts in 1 s: the status is 503')
end

check('a name that does not exist is no endless wait') do
  fails(/the name no-such-host\.invalid cannot be resolved|timeout while resolving/, TcpProbe, 1,
        { host: 'no-such-host.invalid' }, most: 5)
end

check('a port that opens later is waited for') do
  port = closed_port
  listener = nil
  log = available(TcpProbe, port, { timeout: 60 }) { listener ||= TCPServer.new('127.0.0.1', port) }
  raise log.inspect unless log.length == 2 && log.first.include?('is not available yet (connection refused)')
ensure
  listener&.close
end

check('the node that produces a capability does not check it') do
  start = now
  it = provider(TcpProbe, closed_port, { timeout: 60 }, tags: ['service', 'producer:production'])
  equal true, it.exists?
  raise 'it waited' if now - start > 1
  equal false, provider(TcpProbe, closed_port, {}, tags: ['producer']).exists?
end

check('a noop run has one attempt, and warns') do
  start = now
  it = provider(TcpProbe, closed_port, { timeout: 60 }, noop: true)
  equal false, it.exists?
  raise 'it waited' if now - start > 2
  raise it.resource.log.inspect unless it.resource.log.one? { |line| line.include?('warning: 127.0.0.1:') }
end

check('invalid attributes fail their resource without a connection') do
  { port: 0, timeout: 3601, ping_interval: 0 }.each do |name, value|
    fails(/\AService\[x\] `#{name}` is not between/, TcpProbe, 1, { name => value })
  end
  fails(/\AService\[x\] `port` is not a number/, TcpProbe, 'ssh')
  fails(/\AService\[x\] has no `host`/, TcpProbe, 1, { host: nil })
  fails(/\AService\[x\] has no `port`/, TcpProbe, nil)
  fails(/`host` is neither/, HttpProbe, 1, { host: "x\r\nHost: y" })
  fails(/`base_path` has/, HttpProbe, 1, { base_path: "/ HTTP/1.1\r\nX: y" })
  fails(/`ssl` is neither/, HttpProbe, 1, { ssl: 'maybe' })
  fails(/`verify` is not/, HttpProbe, 1, { verify: 'no' })
  fails(/`status_codes` is not between/, HttpProbe, 1, { status_codes: [200, 1000] })
  fails(/`user` contains a NUL/, PostgresProbe, 1, { user: "a\0database" })
  fails(/`user` is empty/, PostgresProbe, 1, { user: '', password: 'x' })
end

check('a web service answers with an expected status') do
  port, requests = http("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
  equal [], available(HttpProbe, port, { base_path: 'health?x=1', status_codes: [200, '204'] })
  request = requests.pop
  equal "GET /health?x=1 HTTP/1.1\r\nHost: 127.0.0.1:#{port}", request.lines.first(2).join.chomp
end

check('messages have no query and no secret path') do
  port, requests = http("HTTP/1.1 503 Service Unavailable\r\n\r\n")
  fails(%r{:#{port}/health is not (?!.*hunter)}, HttpProbe, port, { base_path: '/health?token=hunter2' })
  equal 'GET /health?token=hunter2 HTTP/1.1', requests.pop.lines.first.chomp
  fails(%r{:#{port}/\[redacted\] is not (?!.*hunter)}, HttpProbe, port, { base_path: Secret.new('/hunter2') })
  equal 'GET /hunter2 HTTP/1.1', requests.pop.lines.first.chomp
  resource = Resource.new({ host: '127.0.0.1', port: port, base_path: '/hunter2' }, noop: true)
  resource.define_singleton_method(:secret_parameter?) { |name| name == :base_path }
  equal "http://127.0.0.1:#{port}/[redacted]", HttpProbe.new(Attributes.new(resource)).place
end

check('another status is a failure, and a redirect is not followed') do
  target, requests = http(OK)
  port, = http("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:#{target}/\r\n\r\n")
  fails(%r{\Ahttp://127\.0\.0\.1:#{port}/ is not .*: the status is 302, and not 200}, HttpProbe, port)
  equal 0, requests.length
  port, = http("HTTP/1.1 503 Service Unavailable\r\n\r\n")
  fails(/the status is 503, and not 200 or 401/, HttpProbe, port, { status_codes: [200, 401] })
end

check('a server that speaks no HTTP is a failure, and its bytes cannot change the log') do
  port, = http("SSH-2.0-x\e[31m\nerror\r\n")
  fails(/does not answer with HTTP: SSH-2\.0-x \[31m\./, HttpProbe, port)
  port, = http('')
  fails(/closed the connection before it answered/, HttpProbe, port)
end

check('a server that sends a byte from time to time ends with the timeout') do
  port = serve { |socket| loop { socket.write('H'); sleep(0.05) } }
  fails(/timeout while waiting for an answer/, HttpProbe, port, most: 3)
  port = serve { |socket| loop { socket.write('S'); sleep(0.05) } }
  fails(/timeout while|does not answer as PostgreSQL/, PostgresProbe, port, most: 3)
end

check('a server that never answers ends with the timeout') do
  port = serve { |socket| socket.read }
  fails(/timeout while waiting for an answer/, HttpProbe, port, most: 3)
  fails(/timeout while beginning TLS/, HttpProbe, port, { ssl: true, verify: 'none' }, most: 3)
  fails(/timeout while waiting for an answer/, PostgresProbe, port, most: 3)
end

check('a server that sends without end is left') do
  [['x' * 65_536, /more than 16384 bytes/],
   ["HTTP/1.1 100 Continue\r\n\r\n" * 1000, /more than 262144 bytes/]].each do |bytes, pattern|
    port = serve { |socket| loop { socket.write(bytes) } }
    fails(pattern, HttpProbe, port)
  end
end

check('certificates of the CA of Puppet are accepted, others are not') do
  certificates
  port = https(OK)
  equal [], available(HttpProbe, port, { ssl: true })
  equal [], available(HttpProbe, port, { ssl: true, host: 'localhost', ip: '127.0.0.1' })
  equal [], available(HttpProbe, port, { ssl: true, verify: Puppet[:localcacert] })
  equal [], available(HttpProbe, port, { ssl: true, verify: 'none', host: 'other', ip: '127.0.0.1' })
  fails(/certificate verify failed/, HttpProbe, port, { ssl: true, verify: 'system' })
  fails(/hostname .*other.* does not match|hostname mismatch/i, HttpProbe, port,
        { ssl: true, host: 'other', ip: '127.0.0.1' })
  fails(/cannot be read/, HttpProbe, port, { ssl: true, verify: '/does/not/exist' })
end

# A PostgreSQL server that sends these messages after the start.
def postgres(*messages)
  serve do |socket|
    socket.read(socket.read(4).unpack1('N') - 4)
    messages.each { |type, body| socket.write(type + [body.bytesize + 4].pack('N') + body) }
    socket.read
  end
end

def error(code, message)
  ['E', "SFATAL\0C#{code}\0M#{message}\0\0"]
end

def request(number, data = '')
  ['R', [number].pack('N') + data]
end

check('answers of PostgreSQL that are not ready') do
  fails(/the server answers: the database system is starting up \(57P03\)/, PostgresProbe,
        postgres(error('57P03', 'the database system is starting up')))
  fails(/database "x" does not exist \(3D000\)/, PostgresProbe,
        postgres(request(0), error('3D000', 'database "x" does not exist')))
  fails(/too many clients \(53300\)/, PostgresProbe, postgres(error('53300', 'too many clients')))
  fails(/wrong \(28P01\)/, PostgresProbe, postgres(error('28P01', 'wrong')), { password: 'x' })
end

check('without a password, a server that asks for one or refuses the user is available') do
  equal [], available(PostgresProbe, postgres(request(3)))
  equal [], available(PostgresProbe, postgres(request(10, "SCRAM-SHA-256\0\0")))
  equal [], available(PostgresProbe, postgres(error('28000', 'no pg_hba.conf entry')))
end

check('messages that no PostgreSQL sends are failures') do
  { ['R', ''] => {}, ['!', ''] => {}, ['Z', 'I'] => {}, request(99) => { password: 'x' },
    request(11, 'r=x') => { password: 'x' } }.each do |message, more|
    fails(/does not answer as|without authentication|the check has not/, PostgresProbe, postgres(message), more)
  end
  port = serve { |socket| socket.write("E#{[2**31].pack('N')}"); socket.read }
  fails(/does not answer as PostgreSQL/, PostgresProbe, port)
  port = serve { |socket| loop { socket.write(['N', 1004, 'x' * 1000].pack('aNa1000')) } }
  fails(/more than 262144 bytes/, PostgresProbe, port)
end

check('a password is not sent in clear text without TLS') do
  received = Queue.new
  port = serve do |socket|
    socket.read(socket.read(4).unpack1('N') - 4)
    socket.write(['R', 8, 3].pack('aNN'))
    received << socket.read
  end
  fails(/of postgres in clear text, and it is not sent without TLS; set `ssl`/, PostgresProbe, port, { password: 'x' })
  equal '', received.pop
end

check('a server without TLS, and one that sends bytes before TLS begins') do
  port = serve { |socket| socket.read(8); socket.write('N'); socket.read }
  fails(/does not offer TLS/, PostgresProbe, port, { ssl: true })
  port = serve { |socket| socket.read(8); socket.write("SR\0\0\0\x08\0\0\0\0"); socket.read }
  fails(/ssl|tls/i, PostgresProbe, port, { ssl: true, verify: 'none' })
end

check('SCRAM is that of RFC 7677') do
  scram = Scram.new('pencil', 'rOprNGfwEbeRWgbNEkqO')
  first = 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096'
  # The RFC has a user name, which PostgreSQL leaves empty.
  scram.define_singleton_method(:first_bare) { 'n=user,r=rOprNGfwEbeRWgbNEkqO' }
  equal 'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,' \
        'p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=', scram.answer(first)
  begin
    scram.verify('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G8=')
    raise 'a wrong signature was accepted'
  rescue Failure
    equal false, scram.verified?
  end
  scram.verify('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=')
  equal true, scram.verified?
end

check('a server that does not know the password cannot end SCRAM') do
  [request(0), request(12, 'v=AAAA')].each do |message|
    port = postgres(request(10, "SCRAM-SHA-256\0\0"), message)
    fails(/without its proof|does not know the password/, PostgresProbe, port, { password: 'x' })
  end
  [['r=other,s=AAAA,i=4096', /nonce/], ["i=1", /nonce/]].each do |data, pattern|
    fails(pattern, PostgresProbe, postgres(request(10, "SCRAM-SHA-256\0\0"), request(11, data)), { password: 'x' })
  end
  scram = Scram.new('x', 'abc')
  begin
    scram.answer('r=abcd,s=AAAA,i=600001')
    raise 'there was no error'
  rescue Failure => e
    raise e unless e.message.include?('iterations')
  end
end

def real(more = {})
  { user: 'scram', password: Secret.new('söß 1'), database: 'app', timeout: 60 }.merge(more)
end

if (port = POSTGRES['ready'])
  check('PostgreSQL: a session by each method') do
    %w[scram md5].each { |user| equal [], available(PostgresProbe, port, real(user: user)) }
    fails(/not sent without TLS/, PostgresProbe, port, real(user: 'plain'))
    equal [], available(PostgresProbe, port, real(user: 'plain', ssl: true, verify: 'none'))
    equal [], available(PostgresProbe, port, { user: 'scram', database: '', password: '' })
    equal [], available(PostgresProbe, port, { user: 'tutti', database: 'app' })
    equal [], available(PostgresProbe, port, { user: 'scram', database: 'app' })
  end

  check('PostgreSQL: a wrong password, a missing database, a refused user') do
    %w[scram md5 plain].each do |user|
      more = { user: user, password: Secret.new('wrong secret'), ssl: user == 'plain', verify: 'none' }
      message = warning(PostgresProbe, port, real(more))
      raise message unless message.include?("password authentication failed for user \"#{user}\" (28P01)")
      raise message if message.include?('wrong secret')
    end
    fails(/the PostgreSQL database none on 127\.0\.0\.1:#{port} is .*database "none" does not exist \(3D000\)/,
          PostgresProbe, port, real(database: 'none'))
    fails(/\(28000\)/, PostgresProbe, port, real(user: 'refused'))
    equal [], available(PostgresProbe, port, { user: 'refused', database: 'app' })
  end

  check('PostgreSQL: with TLS') do
    equal [], available(PostgresProbe, port, real(ssl: true, verify: 'none'))
    fails(/certificate verify failed/, PostgresProbe, port, real(ssl: true, verify: 'system'))
  end
end

if (port = POSTGRES['starting'])
  check('PostgreSQL: a server that starts') do
    fails(/\(57P03\)/, PostgresProbe, port, { user: 'tutti' })
    fails(/\(57P03\)/, PostgresProbe, port, real)
  end
end

check('there is no child process') do
  begin
    Process.wait(-1, Process::WNOHANG)
    raise 'there is a child process'
  rescue Errno::ECHILD
    nil
  end
end

exit(1) if @failed
