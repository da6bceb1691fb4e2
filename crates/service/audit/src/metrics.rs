//! Counters of the audit, for export: [`AuditMetrics`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start of the server; they only grow.
#[derive(Debug, Default)]
pub struct AuditMetrics {
    /// Number of entries that were written durably.
    pub entries: AtomicU64,
    /// Number of failed writes: a command was not executed, or a result is tried again.
    pub failures: AtomicU64,
}

pub(crate) fn add_count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}
