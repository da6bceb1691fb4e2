# A virtual host.
define web::vhost (
  Integer $port,
  Optional[String] $root = undef,
) {
  $real_root = $root ? { undef => "/srv/${title}", default => $root }
  file { "/etc/vhosts/${title}.conf":
    content => epp('web/vhost.epp', { 'server' => $title, 'port' => $port, 'root' => $real_root }),
  }
}
