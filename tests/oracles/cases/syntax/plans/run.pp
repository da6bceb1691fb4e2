plan foo::run(TargetSpec $targets, Optional[String] $x = undef) {
  $r = run_task('a', $targets, '_catch_errors' => true)
  apply($targets) { file { '/x': ensure => present } File <| |> -> Service['x'] }
  $r.each |$result| { out::message("${result.target.name}: ${result['x']}") }
  return $r
}
