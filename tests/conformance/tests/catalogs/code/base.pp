# What all nodes have.
class base (
  String $motd,
  Array[String[1]] $packages,
  Sensitive[String] $password,
  Hash[String, Hash] $users = { 'admin' => { 'uid' => 1000 }, 'deploy' => { 'uid' => 1001, 'shell' => '/bin/sh' } },
) {
  $packages.sort.each |Integer $index, String $name| {
    package { $name:
      ensure => $facts['os']['family'] ? { 'RedHat' => 'latest', default => 'installed' },
      tag    => ["number${index}"],
    }
  }
  file { '/etc/motd':
    content => "${motd}${facts['os']['name']} ${facts['os']['release']['major']}, ${facts['note']}\n",
    mode    => '0644',
  }
  file { '/etc/facts':
    content => inline_epp('<%= $facts["memory"]["system"]["total_bytes"] / 1024 %> <%= $facts["is_virtual"] %> <%= $facts["memory"]["system"]["used"] %>'),
  }
  create_resources('user', $users, { 'ensure' => 'present', 'managehome' => true })
  user { 'service':
    password => $password,
    noop     => $facts['is_virtual'],
  }
  @file { "/srv/${facts['processors']['count']}":
    ensure => directory,
    tag    => 'srv',
  }
  if $facts['processors']['count'] > 10 {
    realize(File["/srv/${facts['processors']['count']}"])
  }
  exec { 'refresh':
    command     => '/bin/true',
    refreshonly => true,
    subscribe   => [File['/etc/motd'], Package[$packages]],
  }
}
