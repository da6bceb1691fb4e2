plan foo {
  apply('all', _catch_errors => true) { include x }
  $a = parallelize($b) |$t| { run_command("x", $t) }
  if $a.empty { fail_plan('x', 'y', { a => 1 }) }
}
