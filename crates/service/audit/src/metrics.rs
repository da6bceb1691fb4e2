//! Counters of the audit, for whoever exports them: [`Metrics`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters; they only grow.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Entries that are durable.
    pub entries: AtomicU64,
    /// Times that entries could not be written: a command was not done, or a result is tried again.
    pub failures: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}
