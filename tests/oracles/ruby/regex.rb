# What Ruby's own engine finds: for each pattern an error, or for each subject the first match,
# all matches, a substitution and a split. Offsets are bytes.
require 'json'
STDOUT.set_encoding('utf-8')

def span(subject, from, to)
  from && [subject[0...from].bytesize, subject[0...to].bytesize]
end

def groups(subject, match)
  match && (0...match.size).map { |i| span(subject, match.begin(i), match.end(i)) }
end

def answers(regex, subject)
  all = []
  subject.scan(regex) { all << groups(subject, $~) }
  {
    first: groups(subject, regex.match(subject)),
    all: all,
    gsub: subject.gsub(regex, '<\0|\1|\\\\|\`|\\\'|\q>'),
    split: subject.split(regex),
  }
end

question = JSON.parse(STDIN.read)
answer = question['patterns'].map do |pattern, flags|
  begin
    options = 0
    options |= Regexp::EXTENDED if flags.include?('x')
    options |= Regexp::IGNORECASE if flags.include?('i')
    options |= Regexp::MULTILINE if flags.include?('m')
    regex = Regexp.new(pattern, options)
    {
      inspect: regex.inspect,
      names: regex.named_captures,
      found: question['subjects'].map { |subject| answers(regex, subject) },
    }
  rescue RegexpError => e
    { error: e.message }
  end
end
puts JSON.generate(answer)
