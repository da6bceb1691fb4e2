function back::global(String $key, Hash $options, Puppet::LookupContext $context) {
  case $key {
    'g_key': { $options['from'] }
    'g_fails': { fail('the global backend is out of order') }
    default: { $context.not_found }
  }
}
