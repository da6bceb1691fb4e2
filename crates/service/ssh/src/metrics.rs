//! Metrics of runs over SSH: [`SshMetrics`].

use telemetry::metrics::Counter;

telemetry::metrics! {
    /// Counters since the start of the server.
    pub struct SshMetrics {
        /// Runs over SSH that were begun.
        pub runs: Counter = "ssh_runs",
    }
}
