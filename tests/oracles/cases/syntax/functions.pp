function foo::baz(Integer $x, String *$b) >> Optional[String] {
  $r = $b.map |$i, String $v = 'x'| { $i + $v * 2 - 1 / 3 % 4 << 5 >> 6 }
  $r.each |$q| >> Any { notice($q) }
  return("${r}")
}
type Foo::X = Struct[{ name => String[1], Optional[age] => Integer }]
type Foo::Y = { attributes => { a => Integer } }
type Foo::Z = Foo::Y { attributes => { b => String } }
