function dig_in(Array[Variant[String, Numeric]] $segments, Hash $options, Puppet::LookupContext $context) {
  case $segments {
    ['dug', 'a', 1]: { "dug out" }
    ['dug', 'undef']: { undef }
    ['dug']: { { 'a' => [0, 1], 'b' => 2 } }
    default: { $context.not_found }
  }
}
