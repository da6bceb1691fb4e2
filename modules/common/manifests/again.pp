# @summary Runs Puppet again after this run, if a resource notifies `Exec['again']`.
#
# @param max_runs   Reruns in a row. After these, only the regular runs go on, until one requests nothing.
# @param max_delay  Longest growing pause between two runs, in seconds.
# @param jitter     Largest random part that is added to a pause, as a fraction of it.
class common::again (
  Integer[1, 1000]         $max_runs  = 10,
  Integer[0, 2592000]      $max_delay = 1800,
  Variant[Integer[0, 10], Float[0.0, 10.0]] $jitter = 0.5,
) {
  exec { 'again':
    command     => "again --max-runs ${max_runs} --max-delay ${max_delay} --jitter ${jitter}",
    provider    => 'again',
    refreshonly => true,
    logoutput   => on_failure,
  }
}
