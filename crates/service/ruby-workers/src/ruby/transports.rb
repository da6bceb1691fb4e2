# Schemas of transports, which files register with the Resource API.
module TuttiWorker
  module Transports
    # The schemas that a file registers.
    def self.load(path)
      require 'puppet/resource_api/transport'
      known = registered.keys
      Kernel.load(path)
      registered.reject { |name, _| known.include?(name) }.values.map { |transport| plain(transport.definition) }
    end

    def self.registered
      Puppet::ResourceApi::Transport.list
    end

    # Plain data: keys and symbols become texts, as in puppetserver's answers.
    def self.plain(value, depth = 0)
      raise Values::Foreign, "the schema is nested deeper than #{Values::DEPTH_MAX} levels" if depth > Values::DEPTH_MAX
      case value
      when Hash then value.to_h { |key, inner| [key.to_s, plain(inner, depth + 1)] }
      when Array then value.map { |inner| plain(inner, depth + 1) }
      when Symbol then value.to_s
      when nil, true, false, Integer, Float, String
        dumped = Values.dump(value)
        raise Values::Foreign, 'a text of the schema is not UTF-8' if dumped.is_a?(Hash)
        dumped
      else raise Values::Foreign, "the schema contains a value of class #{value.class}"
      end
    end
  end
end
