node 'a.example.com', b.c.d, /^x\d+$/, default {
  include role::x
  $h = { 'a' => 1, b => [1, *$x, a => 1, b => 2], 'c' => { d => undef, e => default, true => false } }
  [$p, [$q, $r]] = [1, [2, 3]]
  create_resources('file', $h, { mode => '1' })
  $h.each |String $k, $v| { file { $k: content => epp('a/b.epp', { x => $v }) } }
  $z = -$x + -1 * !$y == $a <= $b != $c
  $i = if $x { 1 } else { 2 }
  notice String, Integer[1, default], type($x), Foo::Bar['x']['y'], $x[1, 2], $::a::b, ::foo::bar('x')
}
