//! Metrics of report processors: [`ProcessingMetrics`].

use telemetry::metrics::{Counter, Gauge};

telemetry::metrics! {
    /// Counters since the start of the server, and the length of the queue.
    pub struct ProcessingMetrics {
        /// Programs that ended with exit code 0.
        pub succeeded: Counter = "report_processors_succeeded",
        /// Programs that ended in another way, could not be started or took too long.
        pub failed: Counter = "report_processors_failed",
        /// Reports that no program got, because too many waited or they were deleted meanwhile.
        pub dropped: Counter = "report_processors_dropped",
        /// Reports that wait for a program.
        pub waiting: Gauge = "report_processors_waiting",
    }
}
