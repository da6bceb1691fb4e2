# frozen_string_literal: true

require 'json'
require 'puppet/configurer'
require 'puppet/indirector/catalog/rest'

# The last catalog of this node if the server calls it current, or else a new one. For agents with
# `catalog_terminus = direct_puppet`.
#
# Facts are collected only for a new catalog, and for one with Deferred values. A new one is requested at
# least once in `full_run_interval_s`, so that changed facts reach the server.
class Puppet::Resource::Catalog::DirectPuppet < Puppet::Resource::Catalog::Rest
  desc 'Give the last catalog again as long as the server calls it current.'

  # Seconds after which the facts are sent again. Puppet's daemon asks every half an hour, so seven of eight
  # runs send none.
  FULL_RUN_INTERVAL_S = 14_400

  # Collects the facts as the agent does for a catalog of the server.
  class FactCollector
    include Puppet::Configurer::FactHandler

    def initialize(environment)
      @environment = environment.to_s
    end
  end

  # Resolves Deferred, Sensitive and Binary values on conversion, after the catalog was cached as it came. The
  # agent does so itself only if it has collected the facts.
  module ValueResolution
    attr_writer :facts_of_node

    def to_ral
      Puppet::Pops::Evaluator::DeferredResolver.resolve_and_replace(
        @facts_of_node, self, Puppet.lookup(:current_environment), Puppet[:preprocess_deferred]
      )
      super
    end
  end

  def find(request)
    unless Puppet[:node_name_fact].empty?
      raise Puppet::Error, 'catalog_terminus = direct_puppet cannot be combined with node_name_fact'
    end

    @facts = nil
    catalog = current_catalog(request) || new_catalog(request)
    return nil unless catalog

    catalog.extend(ValueResolution)
    catalog.facts_of_node = facts(request) if deferred?(catalog)
    catalog
  end

  private

  # The last catalog, if it is current.
  def current_catalog(request)
    complete = read_state
    age = Time.now.to_i - complete.fetch('complete_at', 0)
    return nil unless age >= 0 && age < full_run_interval_s

    catalog = last_catalog(request)
    return nil unless catalog&.catalog_uuid && catalog.environment == request.environment.to_s

    answer = ask(request, catalog.catalog_uuid)
    if answer['current'] == true
      Puppet.info 'direct_puppet: the last catalog is current'
      catalog
    else
      Puppet.info "direct_puppet: a new catalog is requested: #{answer['reason']}"
      nil
    end
  rescue StandardError => e
    Puppet.info "direct_puppet: a new catalog is requested: #{e.message}"
    nil
  end

  def last_catalog(request)
    Puppet::Resource::Catalog.indirection.find(
      request.key, ignore_terminus: true, environment: request.environment,
                   transaction_uuid: request.options[:transaction_uuid], static_catalog: true
    )
  end

  # Asks the server whether a catalog is current.
  def ask(request, catalog_uuid)
    url = Puppet.lookup(:http_session).route_to(:puppet).url.dup
    url.path = "/tutti/v1/catalogs/#{request.key}/check"
    body = JSON.generate('environment' => request.environment.to_s, 'catalog_uuid' => catalog_uuid)
    response = Puppet.runtime[:http].post(url, body, headers: { 'Content-Type' => 'application/json' })
    return JSON.parse(response.body) if response.success?

    { 'reason' => "the server answers with status #{response.code}" }
  end

  def new_catalog(request)
    request.options[:facts_for_catalog] ||= facts(request)
    catalog = Puppet::Resource::Catalog::Rest.instance_method(:find).bind(self).call(request)
    write_state if catalog
    catalog
  end

  def facts(request)
    @facts ||= FactCollector.new(request.environment).find_facts
  end

  def deferred?(catalog)
    deferred = Puppet::Pops::Types::TypeFactory.deferred.implementation_class
    catalog.resources.any? { |resource| contains?(deferred, resource.parameters) }
  end

  def contains?(wanted, value)
    case value
    when wanted then true
    when Puppet::Pops::Types::PSensitiveType::Sensitive then contains?(wanted, value.unwrap)
    when Array then value.any? { |item| contains?(wanted, item) }
    when Hash then value.any? { |_, item| contains?(wanted, item) }
    else false
    end
  end

  def full_run_interval_s
    path = File.join(Puppet[:confdir], 'direct_puppet.conf')
    return FULL_RUN_INTERVAL_S unless File.exist?(path)

    Integer(JSON.parse(File.read(path)).fetch('full_run_interval_s', FULL_RUN_INTERVAL_S))
  rescue StandardError => e
    raise Puppet::Error, "#{path} is not valid: #{e.message}"
  end

  def state_path
    File.join(Puppet[:statedir], 'direct_puppet.json')
  end

  def read_state
    state = JSON.parse(File.read(state_path))
    state.is_a?(Hash) && state['complete_at'].is_a?(Integer) ? state : {}
  rescue Errno::ENOENT, JSON::ParserError
    {}
  end

  def write_state
    text = JSON.generate('complete_at' => Time.now.to_i)
    Puppet::Util.replace_file(state_path, '0640') { |file| file.write(text) }
  rescue SystemCallError => e
    Puppet.warning "direct_puppet: the time of this run is not recorded: #{e.message}"
  end
end
