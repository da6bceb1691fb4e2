# The frames between a session and the server: a length of 32 bits, most significant byte first, and JSON.
module TuttiWorker
  # The server ended the call. It is no StandardError, so a plain `rescue` lets it through.
  class Abort < Exception; end

  # A function reached for a part of the compiler that is not in this process.
  class NotIsolated < Exception
    def self.refuse(what)
      Session.current&.refused(what)
      raise new(what)
    end
  end

  class Channel
    def initialize(io, frame_max)
      @io = io
      @frame_max = frame_max
      @owner = Process.pid
    end

    # A function that forked returns twice; the copy ends where it would speak.
    def write(message)
      Process.exit!(0) if Process.pid != @owner
      text = JSON.generate(message, max_nesting: 0)
      if text.bytesize > @frame_max
        raise ArgumentError, "a value of #{text.bytesize} bytes is longer than #{@frame_max} bytes"
      end
      @io.write([text.bytesize].pack('N'), text)
      @io.flush
    end

    # The message, and true if its values are rich data.
    def read
      head = @io.read(4)
      Process.exit!(0) if head.nil? || head.bytesize < 4
      text = @io.read(head.unpack1('N'))
      Process.exit!(0) if text.nil?
      text.force_encoding(Encoding::UTF_8)
      [JSON.parse(text, max_nesting: false), text.include?('"__ptype"')]
    rescue SystemCallError
      Process.exit!(0)
    end
  end
end
