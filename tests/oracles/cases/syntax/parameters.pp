function foo::baz(Integer $x, Callable &$b) >> String { $x }
