define foo::bar($ensure = present, Hash[String, Variant[String, Integer]] $h = {}) {
  file { "/tmp/${title}":
    ensure => $ensure,
    mode   => '0644',
    *      => $h,
    ;
    '/b': owner => root;
    default: group => 'r',
  }
  File['/tmp/a'] -> Service["b"] ~> Exec <| title == 'x' and tag != y |> { mode +> '1' }
  @user { 'u': uid => 0x1F }
  @@nagios { ['a','b']: x => 1.5e3 }
  File { owner => root }
  File['x'] { mode => '1' }
  Foo::Bar <<| |>>
  class { 'x': a => 1; ['b', 'c']: }
}
