//! Metrics of all webhooks: [`DeliveryMetrics`].

use telemetry::metrics::Counter;

telemetry::metrics! {
    /// Counters since the start of the server.
    pub struct DeliveryMetrics {
        /// Messages that a receiver accepted.
        pub delivered: Counter = "webhook_deliveries",
        /// Failed attempts, including those of messages that were delivered later.
        pub failures: Counter = "webhook_failures",
    }
}
