class foo(String $a = 'x', Optional[Integer[1,2]] $b = undef, *$c) inherits foo::params {
  if $a =~ /x\/y/ and $b > 3 or !($a == 'b') { notice "v ${a} $b ${c['k'][1]} ${a.upcase}" }
  elsif $b in [1,2,3] { warning('x') } else { fail "no" }
  unless $x { err 'y' } else { debug 'z' }
  case $a { 'x', /y/: { include bar } default: { contain baz } }
  $v = $a ? { 'x' => 1, default => 2 }
  $w = $a ? x => 1
}
