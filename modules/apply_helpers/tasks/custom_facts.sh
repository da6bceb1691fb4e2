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

# Returns the facts of the node, with those of the modules that came with the task.

require_relative '../files/apply_helper'

ApplyHelper.run do |_params, environment|
  facts = Puppet::Node::Facts.indirection.find(Puppet[:certname], environment: environment)
  [facts.values.reject { |name, _| name == '_timestamp' }, true]
end
