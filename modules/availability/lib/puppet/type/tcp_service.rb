# frozen_string_literal: true

Puppet::Type.newtype(:tcp_service, is_capability: true) do
  @doc = 'A service on a TCP port. It is available when it accepts a connection.'

  newproperty(:ensure) do
    desc 'Always `present`: the service accepts connections.'
    newvalue(:present) { provider.create }
    defaultto :present

    def retrieve
      provider.exists? ? :present : :absent
    end
  end

  newparam(:name, namevar: true) do
    desc 'Name of the capability.'
  end

  newparam(:host) do
    desc 'Host name or address.'
  end

  newparam(:port) do
    desc 'Number of the TCP port.'
  end

  newparam(:timeout) do
    desc 'Seconds for which the consumer waits: 60 unless set, at most 3600.'
  end

  newparam(:ping_interval) do
    desc 'Seconds between two attempts: 1 unless set.'
  end
end
