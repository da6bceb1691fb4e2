# @summary Runs Puppet again, at least so many seconds after this run, if a resource notifies this one.
#
# @param delta            Shortest pause in seconds.
# @param start_timer_now  The pause counts from the notification, and not from the end of the run.
# @param max_runs         Reruns in a row; that of `common::again` by default.
# @param max_delay        Longest growing pause; that of `common::again` by default. `delta` may be longer.
# @param jitter           Largest random part that is added to a pause; that of `common::again` by default.
# @param key              Of requests with the same key, the last one counts.
define common::again::delta (
  Variant[Integer[0, 2592000], Pattern[/\A[0-9]{1,7}\z/]] $delta = 0,
  Boolean                              $start_timer_now = false,
  Optional[Integer[1, 1000]]           $max_runs        = undef,
  Optional[Integer[0, 2592000]]        $max_delay       = undef,
  Optional[Variant[Integer[0, 10], Float[0.0, 10.0]]] $jitter = undef,
  String[1]                            $key             = $title,
) {
  include common::again

  $runs = $max_runs ? {
    undef   => $common::again::max_runs,
    default => $max_runs,
  }
  $longest = $max_delay ? {
    undef   => $common::again::max_delay,
    default => $max_delay,
  }
  $random = $jitter ? {
    undef   => $common::again::jitter,
    default => $jitter,
  }
  $quoted = shellquote($key)

  exec { "again-delta-${title}":
    command     => "again --delta ${delta} --start-timer-now ${start_timer_now} --max-runs ${runs} --max-delay ${longest} --jitter ${random} --key ${quoted}",
    provider    => 'again',
    refreshonly => true,
    logoutput   => on_failure,
  }
}
