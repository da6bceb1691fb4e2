#!/bin/sh
# Runs the program below with the Ruby of Puppet or OpenVox, else with that of the system.
for ruby in /opt/puppetlabs/puppet/bin/ruby /usr/bin/ruby /usr/local/bin/ruby; do
  [ -x "$ruby" ] && exec "$ruby" -x "$0"
done
cat <<'JSON'
{"_error":{"kind":"bolt/apply-error","msg":"Puppet is not installed on the target, please install it to enable 'apply': install the package puppet-agent or openvox-agent, for example with the task `package` or `puppet_agent::install`","details":{}}}
JSON
exit 1
#!ruby
# frozen_string_literal: true

# Returns the state of resources: all of a type, or those with a title.

require_relative '../files/apply_helper'

def data_of(resource)
  resource.prune_parameters
  parameters = resource.to_data_hash['parameters'] || {}
  { 'type' => resource.type.to_s, 'title' => resource.title, 'parameters' => parameters }
end

def query(name)
  type, title = name.match(/\A([^\[]+)(?:\[(.*)\])?\z/m).captures
  found = if title
            [Puppet::Resource.indirection.find("#{type}/#{title}")]
          else
            Puppet::Resource.indirection.search(type, {})
          end
  found.map { |resource| data_of(resource) }
end

ApplyHelper.run do |params, _environment|
  [{ 'resources' => params['resources'].flat_map { |name| query(name) } }, true]
end
