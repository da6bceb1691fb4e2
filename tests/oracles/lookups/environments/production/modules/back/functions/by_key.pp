function back::by_key(String[1] $key, Hash[String[1], Any] $options, Puppet::LookupContext $context) {
  if $options['uri'] != 'x://two/web1' {
    $context.not_found
  }
  case $key {
    'key_options': { $options }
    'key_text': { "${options['prefix']}: ${key}" }
    'key_undef': { undef }
    'key_filled': { $context.interpolate('<%{facts.name}> %{lookup("number")}') }
    'key_filled_hash': { $context.interpolate({ '%{facts.name}' => ['%{local}'] }) }
    'key_raw': { '%{facts.name}' }
    'key_explained': { $context.explain || { "a word of ${key}" } 1 }
    'asks_text': { lookup('text') }
    'asks_missing': { lookup('missing_too', undef, undef, 'its default') }
    'asks_itself': { lookup('asks_itself') }
    'asks_filled': { $context.interpolate('%{lookup("asks_filled")}') }
    'fails': { fail('out of order') }
    'divides': { 1 / 0 }
    'no_data': { { 'h' => { [1] => 2 } }['h'] }
    'cached': {
      $before = [$context.cache_has_key('k'), $context.cached_value('k')]
      $put = $context.cache('k', 'v')
      $context.cache_all({ 'l' => 1, 2 => 'm' })
      $pairs = $context.cached_entries.map |$pair| { $pair }
      [$before, $put, $context.cached_value('k'), $context.cache_has_key('l'), $pairs]
    }
    'again': { [$context.cached_value('seen'), $context.cache('seen', $key)] }
    'again_too': { [$context.cached_value('seen'), $context.cache('seen', $key)] }
    'file': { $context.cached_file_data(lookup('data_file')) |$text| { $text.upcase } }
    'merged': { { 'key' => 1 } }
    default: { $context.not_found }
  }
}
