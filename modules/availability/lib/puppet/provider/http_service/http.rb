# frozen_string_literal: true

require_relative '../../../puppet_x/availability/provider'

Puppet::Type.type(:http_service).provide(:http) do
  desc "Requests the path with GET."

  include PuppetX::Availability::Provider

  private

  def probe(attributes)
    require_relative '../../../puppet_x/availability/http_probe'
    PuppetX::Availability::HttpProbe.new(attributes)
  end
end
