# What Psych makes of each text, as tagged JSON: `safe_load` as Puppet calls it, with dates and times
# where they are asked for.
require 'json'
require 'psych'
require 'date'
STDOUT.set_encoding('utf-8')

def tagged(value)
  case value
  when nil then nil
  when true, false then value
  when Integer then { int: value.to_s }
  when Float
    { float: value.nan? ? 'nan' : value.infinite? ? value.to_s : [value].pack('G').unpack1('H*') }
  when Symbol then { sym: value.to_s }
  when String
    value.encoding == Encoding::BINARY ? { bin: value.unpack1('H*') } : { str: value }
  when Date then { date: [value.year, value.month, value.day] }
  when Time then { time: [value.to_i, value.nsec] }
  when Array then value.map { |it| tagged(it) }
  when Hash then { map: value.map { |key, it| [tagged(key), tagged(it)] } }
  else { other: value.class.name }
  end
end

question = JSON.parse(STDIN.read)
answer = question['texts'].map do |text|
  begin
    permitted = question['times'] ? [Symbol, Date, Time] : [Symbol]
    value = Psych.safe_load(text, permitted_classes: permitted, aliases: true)
    { value: tagged(value) }
  rescue Psych::SyntaxError => e
    { error: 'syntax', text: e.message }
  rescue SystemStackError
    { error: 'ours', text: 'it contains itself' }
  rescue StandardError, Psych::Exception => e
    { error: e.class.name, text: e.message }
  end
end
puts JSON.generate(answer)
