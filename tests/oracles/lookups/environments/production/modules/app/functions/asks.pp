function app::asks(String $key) {
  $local = 'of the function'
  lookup($key)
}
