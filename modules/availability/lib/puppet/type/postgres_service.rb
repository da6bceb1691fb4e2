# frozen_string_literal: true

Puppet::Type.newtype(:postgres_service, is_capability: true) do
  @doc = 'A database of PostgreSQL. It is available when the server accepts connections; with a user who may log in,
    when `SELECT 1` succeeds.'

  newproperty(:ensure) do
    desc 'Always `present`: the database is available.'
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
    desc 'Number of the TCP port: 5432 unless set.'
  end

  newparam(:database) do
    desc 'Name of the database: that of the user unless set.'
  end

  newparam(:user) do
    desc 'The user: `postgres` unless set.'
  end

  newparam(:password) do
    desc 'Password of the user, which may be Sensitive. Without one, a server that asks for it is available.
      It is sent in clear text with `ssl` only.'
  end

  newparam(:ssl) do
    desc 'True to connect with TLS; false unless set.'
  end

  newparam(:verify) do
    desc 'The CA of the certificate: `puppet` (unless set), `system`, the absolute path of a file, or `none`.
      Lists of revoked certificates are not checked.'
  end

  newparam(:timeout) do
    desc 'Seconds for which the consumer waits: 60 unless set, at most 3600.'
  end

  newparam(:ping_interval) do
    desc 'Seconds between two attempts: 1 unless set.'
  end

  # Puppet warns of secret parameters, since it can hide those of properties only. This one is shown nowhere.
  def set_sensitive_parameters(names)
    super(names - [:password])
  end
end
