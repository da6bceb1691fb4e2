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

# Applies a catalog and returns the report.

require_relative '../files/apply_helper'

# Values that the node computes itself.
def resolve_deferred(catalog, environment)
  return unless defined?(Puppet::Pops::Evaluator::DeferredResolver)

  facts = Puppet::Node::Facts.new(catalog.name, {})
  facts = Puppet::Node::Facts.indirection.find(catalog.name, environment: environment) || facts
  Puppet::Pops::Evaluator::DeferredResolver.resolve_and_replace(facts, catalog)
end

def convert(data, environment)
  catalog = Puppet::Resource::Catalog.from_data_hash(data)
  catalog.environment = environment.name.to_s
  catalog.environment_instance = environment
  resolve_deferred(catalog, environment) if JSON.generate(data).include?('"Deferred"')
  catalog = catalog.to_ral
  catalog.finalize
  catalog.host_config = true
  catalog
end

# Agents return 8 MiB of output at most.
REPORT_BYTES_MAX = 7 * 1024 * 1024
LOGS_KEPT = 1000

# Leaves out the states of resources that were in sync if the report is too large, and then of all that
# did not fail.
def shorten(report)
  [%w[changed failed out_of_sync skipped], %w[failed]].each do |kept|
    break if JSON.generate(report).bytesize <= REPORT_BYTES_MAX

    report['resource_statuses'] = report['resource_statuses'].select { |_, status| status.values_at(*kept).any? }
    report['logs'] = report['logs'].last(LOGS_KEPT)
  end
  report
end

ApplyHelper.run do |params, environment|
  Puppet[:node_name_value] = params['catalog']['name']
  report = Puppet::Transaction::Report.new(nil, environment.name.to_s, params['catalog']['catalog_uuid'])
  Puppet::Util::Log.newdestination(report)
  catalog = convert(params['catalog'], environment)
  report.configuration_version = catalog.version
  catalog.apply(report: report, ignoreschedules: false)
  Puppet::Util::Log.close(report)
  report.finalize_report
  # As with Puppet's own task for this, resources that failed are in the report: the task succeeded.
  [shorten(ApplyHelper.as_utf8(report.to_data_hash)), true]
end
