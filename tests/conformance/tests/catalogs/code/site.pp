# Every construct that most sites have.
File {
  owner => 'root',
}

stage { 'first':
  before => Stage['main'],
}

node /^node\d+\.example\.com$/ {
  include base
  case $facts['role'] {
    'web': { include web }
    'db': {
      package { ['postgresql', 'pgbouncer']:
        ensure => installed,
        tag    => 'database',
      }
      -> service { 'postgresql': ensure => running, enable => true }
    }
    default: {
      notify { "no role for ${facts['clientcert']} of ${trusted['certname']}": }
    }
  }
  Package<| tag == 'database' |> { require => File['/etc/motd'] }
}

node 'broken.example.com' {
  fail('this node is broken')
}
