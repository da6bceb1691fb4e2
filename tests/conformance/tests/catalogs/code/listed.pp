# Parameters of many kinds, none of which a catalog needs.
class listed (
  String[1] $name_of = 'x',
  Optional[Integer[0, 5]] $size = 3,
  Enum['b', 'a'] $kind = 'a',
  Hash[String, Array[Integer, 1]] $table = { 'z' => [1, 2], 'a' => [0x1F] },
  Listed::Unknown $alias = undef,
  Variant[Boolean, Pattern[/^a/]] $either = true,
  Struct[{ 'a' => Integer, Optional['b'] => String }] $struct = { 'a' => 1 },
  $untyped = ['a', undef, -1],
  $interpolated = "a${size}",
  $called = lookup('x', String, 'first', 'y'),
  $required,
) {
  class inner(Boolean $flag = false) { }
}
