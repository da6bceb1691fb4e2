# frozen_string_literal: true

require 'puppet/resource_api'

COMMON = { user: { type: 'Optional[String]', desc: 'The user' } }.freeze
schema = {
  name: 'network',
  desc: 'Connects to ' + %w[switches routers].join(' and '),
  connection_info: COMMON.merge(timeout: { type: 'Integer', default: 2 * 30 }),
}
schema[:connection_info_order] = schema[:connection_info].keys.sort
Puppet::ResourceApi.register_transport(schema)
