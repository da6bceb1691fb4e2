//! Metrics of the forwarding: [`ForwardingMetrics`].

use telemetry::metrics::{Counter, Gauge};

telemetry::metrics! {
    /// Counters since the start of the server, and the state of the queue.
    pub struct ForwardingMetrics {
        /// Commands that PuppetDB took.
        pub sent: Counter = "puppetdb_commands_sent",
        /// Commands that PuppetDB refused, which were dropped.
        pub refused: Counter = "puppetdb_commands_refused",
        /// Commands that were dropped because the queue was full or they were too old.
        pub dropped: Counter = "puppetdb_commands_dropped",
        /// Commands that wait for PuppetDB.
        pub queued: Gauge = "puppetdb_commands_queued",
        /// Bytes of the commands that wait for PuppetDB, compressed.
        pub queued_bytes: Gauge = "puppetdb_commands_queued" in Bytes,
        /// Age of the oldest command that waits for PuppetDB.
        pub oldest: Gauge = "puppetdb_commands_oldest" in Seconds,
    }
}
