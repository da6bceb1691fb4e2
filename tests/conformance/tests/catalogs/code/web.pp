# A web server with the virtual hosts that the facts name.
class web (
  Integer[1, 65535] $port,
) {
  $package = $facts['os']['family'] ? {
    'RedHat' => 'httpd',
    default  => 'apache2',
  }
  package { $package: ensure => installed }
  $facts['vhosts'].each |$name| {
    web::vhost { $name:
      port    => $port,
      require => Package[$package],
    }
  }
  service { $package: ensure => running }
  Web::Vhost <| |> ~> Service[$package]
}
