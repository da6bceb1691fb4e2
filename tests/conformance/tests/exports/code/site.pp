define backend($port, $options = {}) {
  notify { "backend ${title} ${port} ${options}": }
}

class balancer {
  Backend <<| tag == 'Shop' |>>
  notify { 'after': require => Backend['shop web1'] }
}

node default {
  $list = ['a', 'b']
  include balancer
  @@file { '/srv/own': ensure => file, mode => '0644', tag => 'web' }
  File <<| tag == 'web' and mode != '0600' |>> { owner => 'root' }
  File <<| title == '/srv/secret' |>>
  Notify <<| message == 'x' or message == $list or withpath == true |>>
  Notify <<| title != 'other' and tag == 'unicode' |>>

  puppetdb_query('resources[certname, title] { exported = true and type = "File" order by title }').each |$row| {
    notify { "${row['certname']} ${row['title']}": }
  }
  $ports = puppetdb_query(['from', 'resources', ['extract', ['parameters'], ['=', 'type', 'Backend']]])
  notify { "ports ${ports.map |$row| { $row['parameters']['port'] }.sort}": }
}
