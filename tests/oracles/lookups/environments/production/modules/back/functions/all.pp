function back::all(Hash $options, Puppet::LookupContext $context) {
  $context.explain || { 'all data at once' }
  $data = {
    'all_options' => $options,
    'all_interpolated' => '%{facts.name} %{lookup("text")}',
    'all_module' => $context.module_name,
    'all_context' => "${type($context)}",
    'merged' => { 'all' => 1 },
  }
  $data
}
