//! Metrics of the broker: [`BrokerMetrics`], with their OpenMetrics text.
//!
//! Invariant: the number of label values does not grow with the number of clients.

use std::sync::Mutex;
use std::sync::PoisonError;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::access_log::MessageOutcome;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ReasonLabel {
    reason: &'static str,
}

/// Counters and gauges; clones of one share its value.
#[derive(Debug)]
pub(crate) struct BrokerMetrics {
    registry: Mutex<Registry>,
    pub(crate) connections: Gauge,
    pub(crate) half_open: Gauge,
    pub(crate) controllers_connected: Gauge,
    pub(crate) opened: Counter,
    openings_failed: Family<ReasonLabel, Counter>,
    closed: Family<ReasonLabel, Counter>,
    messages: Family<OutcomeLabel, Counter>,
    pub(crate) messages_sent: Counter,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
    undelivered: Family<ReasonLabel, Counter>,
    pub(crate) superseded: Counter,
    pub(crate) duplicate_certnames: Counter,
    pub(crate) revoked: Counter,
    pub(crate) assembly_reserved: Gauge,
    pub(crate) assembly_waits: Counter,
}

impl BrokerMetrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("tutti_broker")),
            connections: Gauge::default(),
            half_open: Gauge::default(),
            controllers_connected: Gauge::default(),
            opened: Counter::default(),
            openings_failed: Family::default(),
            closed: Family::default(),
            messages: Family::default(),
            messages_sent: Counter::default(),
            bytes_received: Counter::default(),
            bytes_sent: Counter::default(),
            undelivered: Family::default(),
            superseded: Counter::default(),
            duplicate_certnames: Counter::default(),
            revoked: Counter::default(),
            assembly_reserved: Gauge::default(),
            assembly_waits: Counter::default(),
        };
        {
            let mut guard = metrics
                .registry
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let registry = &mut *guard;
            registry.register(
                "connections",
                "Associated clients",
                metrics.connections.clone(),
            );
            registry.register(
                "half_open_connections",
                "Clients that are not associated yet",
                metrics.half_open.clone(),
            );
            registry.register(
                "controllers_connected",
                "Controllers that the broker is connected to",
                metrics.controllers_connected.clone(),
            );
            registry.register("associations", "Clients associated", metrics.opened.clone());
            registry.register(
                "openings_failed",
                "Connections that ended before association",
                metrics.openings_failed.clone(),
            );
            registry.register(
                "sessions_ended",
                "Associations ended",
                metrics.closed.clone(),
            );
            registry.register(
                "messages_received",
                "Messages from clients",
                metrics.messages.clone(),
            );
            registry.register(
                "messages_sent",
                "Messages to clients",
                metrics.messages_sent.clone(),
            );
            registry.register_with_unit(
                "received",
                "Message bytes from clients",
                Unit::Bytes,
                metrics.bytes_received.clone(),
            );
            registry.register_with_unit(
                "sent",
                "Message bytes to clients",
                Unit::Bytes,
                metrics.bytes_sent.clone(),
            );
            registry.register(
                "messages_undelivered",
                "Messages that reached no target",
                metrics.undelivered.clone(),
            );
            registry.register(
                "sessions_superseded",
                "Sessions replaced by a newer one of the same address",
                metrics.superseded.clone(),
            );
            registry.register(
                "duplicate_certnames",
                "Connections delayed because their certname keeps superseding itself",
                metrics.duplicate_certnames.clone(),
            );
            registry.register(
                "sessions_revoked",
                "Sessions cut because their certificate was revoked",
                metrics.revoked.clone(),
            );
            registry.register_with_unit(
                "assembly_reserved",
                "Reserved for large messages that are being received",
                Unit::Bytes,
                metrics.assembly_reserved.clone(),
            );
            registry.register(
                "assembly_waits",
                "Large messages that waited for room; their clients were not read from meanwhile",
                metrics.assembly_waits.clone(),
            );
        }
        metrics
    }

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

    /// Renders all metrics in the OpenMetrics format.
    pub(crate) fn to_openmetrics(&self) -> String {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)
            .expect("writing to a String does not fail");
        text
    }
}
