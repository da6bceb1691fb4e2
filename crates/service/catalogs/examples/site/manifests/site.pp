# A role as sites have it: time, a database, a cache, a balancer, and files in a loop.
node default {
  class { 'ntp': servers => ['0.pool.ntp.org', '1.pool.ntp.org'] }
  class { 'mysql::server': root_password => 'secret' }
  include mysql::client
  include haproxy
  include memcached
  include xinetd
  include rsync::server
  range(1, 20).each |$number| {
    mysql::db { "app${number}": user => "app${number}", password => 'secret', host => 'localhost' }
    haproxy::listen { "app${number}": ipaddress => '*', ports => "80${number}" }
    file { "/srv/app${number}":
      ensure  => directory,
      mode    => '0750',
      require => Mysql::Db["app${number}"],
    }
  }
}
