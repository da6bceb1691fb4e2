# Values of Puppet from and to JSON of rich data.
module TuttiWorker
  module Values
    # serde_json reads 128 levels, and an answer has some around its value
    DEPTH_MAX = 100
    INTEGERS = (-(2**63)..(2**63 - 1)).freeze

    class Foreign < StandardError; end

    def self.load(value, rich)
      rich ? Puppet::Pops::Serialization::FromDataConverter.convert(value) : value
    end

    def self.dump(value, depth = 0)
      raise Foreign, "the value is nested deeper than #{DEPTH_MAX} levels, or contains itself" if depth > DEPTH_MAX
      case value
      when nil, true, false, :undef then value == :undef ? nil : value
      when String then dump_string(value)
      when Integer
        raise Foreign, "the integer #{value} does not fit into 64 bits" unless INTEGERS.cover?(value)
        value
      when Float
        raise Foreign, "the number #{value} is no Float of Puppet" unless value.finite?
        value
      when :default then { '__ptype' => 'Default' }
      when Symbol then dump_string(value.to_s)
      when Array then value.map { |element| dump(element, depth + 1) }
      when Hash then dump_hash(value, depth)
      else dump_other(value, depth)
      end
    end

    def self.dump_string(text)
      return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
      return text.dup.force_encoding(Encoding::UTF_8) if text.ascii_only?
      if text.encoding == Encoding::ASCII_8BIT
        utf8 = text.dup.force_encoding(Encoding::UTF_8)
        return utf8 if utf8.valid_encoding?
        return { '__ptype' => 'Binary', '__pvalue' => [text].pack('m0') }
      end
      raise Foreign, "a string of encoding #{text.encoding} is not valid" unless text.valid_encoding?
      text.encode(Encoding::UTF_8)
    end

    def self.dump_hash(hash, depth)
      if hash.each_key.all? { |key| String === key && key != '__ptype' }
        result = {}
        hash.each_pair { |key, value| result[dump_string(key)] = dump(value, depth + 1) }
        return result
      end
      flat = []
      hash.each_pair { |key, value| flat << dump(key, depth + 1) << dump(value, depth + 1) }
      { '__ptype' => 'Hash', '__pvalue' => flat }
    end

    def self.dump_other(value, depth)
      raise Foreign, 'a BasicObject is none of Puppet\'s values' unless Object === value
      types = Puppet::Pops::Types
      case value
      when types::PSensitiveType::Sensitive
        { '__ptype' => 'Sensitive', '__pvalue' => dump(value.unwrap, depth + 1) }
      when Puppet::Resource
        dump_other(types::TypeFactory.resource(value.type, value.title), depth)
      when types::Iterable, Enumerator
        raise Foreign, "a value of class #{value.class} has no end" if value.size.nil? || value.size == Float::INFINITY
        dump(value.to_a, depth)
      else
        if types::TypeCalculator.infer(value).is_a?(types::PRuntimeType)
          raise Foreign, "a value of class #{value.class} is none of Puppet's"
        end
        Puppet::Pops::Serialization::ToDataConverter.convert(
          value, rich_data: true, local_reference: false, type_by_reference: true
        )
      end
    end
  end
end
