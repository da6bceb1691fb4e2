//! Counters of all webhooks, for whoever exports them: [`Metrics`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start of the server; they only grow.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Messages that a receiver took.
    pub delivered: AtomicU64,
    /// Attempts that failed, whatever came of the message later.
    pub failures: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
