//! Metrics of the engine: [`JobMetrics`].

use telemetry::metrics::{Counter, Gauge};

telemetry::metrics! {
    /// Counters and gauges since the start of the engine.
    pub struct JobMetrics {
        /// Jobs whose creation was committed.
        pub jobs_created: Counter = "jobs_created",
        /// Runs that were marked as running.
        pub runs_started: Counter = "runs_started",
        /// Runs that ended, in any state.
        pub runs_ended: Counter = "runs_ended",
        /// Runs that could not run, or whose outcome is unknown.
        pub runs_errored: Counter = "runs_errored",
        /// Requests sent again, because the agent proved that it never got them.
        pub requests_resent: Counter = "requests_resent",
        /// Status queries sent to agents.
        pub status_queries: Counter = "status_queries",
        /// Outcomes that came after their run was given up.
        pub late_outcomes: Counter = "late_outcomes",
        /// Messages for the run of another node.
        pub forged_messages: Counter = "forged_messages",
        /// Messages that could not be read, or that match no open request.
        pub ignored_messages: Counter = "ignored_messages",
        /// Pieces of output that an agent sent without credit.
        pub unasked_output: Counter = "unasked_output",
        /// Commits that failed and were tried again.
        pub commit_failures: Counter = "commit_failures",
        /// Changes that the store refused permanently; the log has the reason.
        pub refused_changes: Counter = "refused_changes",
        /// Runs that hold a slot.
        pub in_flight: Gauge = "runs_in_flight",
        /// Runs that wait for a slot.
        pub queued: Gauge = "runs_queued",
        /// Changes that wait for a commit.
        pub pending_changes: Gauge = "pending_changes",
    }
}

/// Sets a gauge to a number of things in memory.
pub(crate) fn set_gauge(gauge: &Gauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}
