# frozen_string_literal: true

Puppet::Type.newtype(:http_service, is_capability: true) do
  @doc = 'A web service. It is available when it answers with an expected status.'

  newproperty(:ensure) do
    desc 'Always `present`: the service answers.'
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
    desc 'Host name or address, also that of the certificate.'
  end

  newparam(:ip) do
    desc 'Address to connect to, if it is not one of the host.'
  end

  newparam(:port) do
    desc 'Number of the TCP port: 80, or 443 with `ssl`, unless set.'
  end

  newparam(:ssl) do
    desc 'True for HTTPS; false unless set.'
  end

  newparam(:verify) do
    desc 'The CA of the certificate: `puppet` (unless set), `system`, the absolute path of a file, or `none`.'
  end

  newparam(:base_path) do
    desc 'The path that is requested: `/` unless set.'
  end

  newparam(:status_codes) do
    desc 'A status or a list of statuses of an available service: 200 unless set. Redirects are not followed.'
  end

  newparam(:timeout) do
    desc 'Seconds for which the consumer waits: 60 unless set, at most 3600.'
  end

  newparam(:ping_interval) do
    desc 'Seconds between two attempts: 1 unless set.'
  end
end
