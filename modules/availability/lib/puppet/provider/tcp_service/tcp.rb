# frozen_string_literal: true

require_relative '../../../puppet_x/availability/provider'

Puppet::Type.type(:tcp_service).provide(:tcp) do
  desc "Connects to the port."

  include PuppetX::Availability::Provider

  private

  def probe(attributes)
    require_relative '../../../puppet_x/availability/tcp_probe'
    PuppetX::Availability::TcpProbe.new(attributes)
  end
end
