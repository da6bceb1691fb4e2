# Time, and a web server with ten sites.
node default {
  include stdlib
  include ntp
  include apache
  range(1, 10).each |$number| {
    apache::vhost { "site${number}.example.com":
      port            => 80,
      docroot         => "/srv/site${number}",
      serveraliases   => ["www.site${number}.example.com"],
      aliases         => [{ 'alias' => '/images', 'path' => "/srv/images/site${number}" }],
      redirect_source => ['/old'],
      redirect_dest   => ['/new'],
    }
  }
}
