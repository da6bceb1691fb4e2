//! Metrics of the broker: [`BrokerMetrics`].
//!
//! Invariant: no label grows with the number of clients.

use prometheus_client::encoding::EncodeLabelSet;
use telemetry::metrics::{Counter, Family, Gauge};

use crate::access_log::MessageOutcome;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ReasonLabel {
    reason: &'static str,
}

telemetry::metrics! {
    /// Counters and gauges since the start of the broker.
    pub(crate) struct BrokerMetrics {
        /// Associated clients.
        pub(crate) connections: Gauge = "connections",
        /// Clients that are not associated yet.
        pub(crate) half_open: Gauge = "half_open_connections",
        /// Controllers that the broker is connected to.
        pub(crate) controllers_connected: Gauge = "controllers_connected",
        /// Clients associated.
        pub(crate) opened: Counter = "associations",
        /// Connections that ended before association.
        openings_failed: Family<ReasonLabel, Counter> = "openings_failed",
        /// Associations ended.
        closed: Family<ReasonLabel, Counter> = "sessions_ended",
        /// Messages from clients.
        messages: Family<OutcomeLabel, Counter> = "messages_received",
        /// Messages to clients.
        pub(crate) messages_sent: Counter = "messages_sent",
        /// Message bytes from clients.
        pub(crate) bytes_received: Counter = "received" in Bytes,
        /// Message bytes to clients.
        pub(crate) bytes_sent: Counter = "sent" in Bytes,
        /// Messages that reached no target.
        undelivered: Family<ReasonLabel, Counter> = "messages_undelivered",
        /// Sessions replaced by a newer one of the same address.
        pub(crate) superseded: Counter = "sessions_superseded",
        /// Connections delayed because their certname keeps superseding itself.
        pub(crate) duplicate_certnames: Counter = "duplicate_certnames",
        /// Sessions cut because their certificate was revoked.
        pub(crate) revoked: Counter = "sessions_revoked",
        /// Reserved for large messages that are being received.
        pub(crate) assembly_reserved: Gauge = "assembly_reserved" in Bytes,
        /// Large messages that waited for memory; their clients were not read from meanwhile.
        pub(crate) assembly_waits: Counter = "assembly_waits",
    }
}

impl BrokerMetrics {
    pub(crate) fn count_opening_failed(&self, reason: &'static str) {
        self.openings_failed
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    pub(crate) fn count_session_ended(&self, reason: &'static str) {
        self.closed.get_or_create(&ReasonLabel { reason }).inc();
    }

    pub(crate) fn count_message(&self, outcome: MessageOutcome) {
        self.messages
            .get_or_create(&OutcomeLabel {
                outcome: outcome.name(),
            })
            .inc();
    }

    pub(crate) fn count_undelivered(&self, reason: &'static str) {
        self.undelivered
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }
}
