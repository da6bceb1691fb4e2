//! Metrics of the audit: [`AuditMetrics`].

use telemetry::metrics::Counter;

telemetry::metrics! {
    /// Counters since the start of the server.
    pub struct AuditMetrics {
        /// Audit entries that were written durably.
        pub entries: Counter = "audit_entries",
        /// Failed writes of audit entries: a command was not executed, or a result is tried again.
        pub failures: Counter = "audit_failures",
    }
}
