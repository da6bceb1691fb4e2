# First lines of a worker: moves the control socket away from stdin, reads the scripts and evaluates them.
require 'socket'
require 'json'
MOVED = STDIN.dup
MOVED.autoclose = false
CONTROL = UNIXSocket.for_fd(MOVED.fileno)
STDIN.reopen(File::NULL)
def CONTROL.exactly(size)
  text = String.new
  text << sysread(size - text.bytesize) while text.bytesize < size
  text
rescue EOFError, SystemCallError
  Process.exit!(0)
end
def CONTROL.frame
  JSON.parse(exactly(exactly(4).unpack1('N')).force_encoding('UTF-8'), max_nesting: false)
end
def CONTROL.reply(message)
  text = JSON.generate(message)
  write([text.bytesize].pack('N'), text)
end
scripts = CONTROL.frame
begin
  require 'puppet'
  require 'monitor'
  require 'puppet/parser/templatewrapper'
rescue LoadError => e
  CONTROL.reply('missing' => e.message)
  Process.exit!(0)
end
scripts.each { |name, text| eval(text, TOPLEVEL_BINDING, name, 1) }
CONTROL.reply('ready' => true)
TuttiWorker::Template.new(CONTROL).run
