//! Counters of all webhooks, for export: [`DeliveryMetrics`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start of the server; they only grow.
#[derive(Debug, Default)]
pub struct DeliveryMetrics {
    /// Number of messages that a receiver accepted.
    pub delivered: AtomicU64,
    /// Number of failed attempts, including those of messages that were delivered later.
    pub failures: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
