# frozen_string_literal: true

require 'puppet/resource_api'

Puppet::ResourceApi.register_transport(
  name: 'device',
  desc: <<-EOS,
    Connects to a device.
  EOS
  features: [],
  connection_info: {
    host: { type: 'String', desc: 'The host' },
    port: { type: 'Optional[Integer]', desc: 'The port', default: 22 },
    password: { type: 'String', desc: "The \"password\"", sensitive: true },
  },
)
