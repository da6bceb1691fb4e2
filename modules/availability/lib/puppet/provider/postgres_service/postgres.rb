# frozen_string_literal: true

require_relative '../../../puppet_x/availability/provider'

Puppet::Type.type(:postgres_service).provide(:postgres) do
  desc "Speaks PostgreSQL's protocol; needs neither psql nor a library."

  include PuppetX::Availability::Provider

  private

  def probe(attributes)
    require_relative '../../../puppet_x/availability/postgres_probe'
    PuppetX::Availability::PostgresProbe.new(attributes)
  end
end
