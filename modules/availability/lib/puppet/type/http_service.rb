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
    desc 'The CA of the certificate: `puppet` (unless set), `system`, the absolute path of a file, or `none`.
      Lists of revoked certificates are not checked.'
  end

  newparam(:base_path) do
    desc 'The path that is requested, with a query if it has one: `/` unless set. It may be Sensitive. Messages show it
      without its query, or not at all if it is Sensitive.'
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

  # Puppet warns of secret parameters, since it can hide those of properties only. Messages omit this one.
  def set_sensitive_parameters(names)
    @secret_parameters = names.map(&:to_sym)
    super(names - [:base_path])
  end

  def secret_parameter?(name)
    Array(@secret_parameters).include?(name)
  end
end
