function app::data($options, $context) {
  $data = { 'app::from_function' => $context.module_name, 'app::list' => ['function'] }
  $data
}
