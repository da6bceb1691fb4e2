//! Counters of the engine, for export.
//!
//! Invariant of [`JobMetrics`]: plain atomics, written by the engine alone, so reading takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters (they only grow) and gauges of one engine.
#[derive(Debug, Default)]
pub struct JobMetrics {
    /// Counter: jobs whose creation was committed.
    pub jobs_created: AtomicU64,
    /// Counter: runs marked as running.
    pub runs_started: AtomicU64,
    /// Counter: runs that ended in any state.
    pub runs_ended: AtomicU64,
    /// Counter: ended runs that could not run, or whose outcome is unknown.
    pub runs_errored: AtomicU64,
    /// Requests sent again because the agent proved that it never got them.
    pub requests_resent: AtomicU64,
    /// Counter: status queries sent to nodes.
    pub status_queries: AtomicU64,
    /// Outcomes that came after their run was given up.
    pub late_outcomes: AtomicU64,
    /// Messages that came for a run of another node.
    pub forged_messages: AtomicU64,
    /// Counter: messages that could not be read, or that match no open request.
    pub ignored_messages: AtomicU64,
    /// Counter: pieces of output sent by an agent without credit.
    pub unasked_output: AtomicU64,
    /// Commits that failed and were tried again.
    pub commit_failures: AtomicU64,
    /// Counter: changes that the store refused permanently.
    pub refused_changes: AtomicU64,
    /// Gauge: runs that hold a slot.
    pub in_flight: AtomicU64,
    /// Gauge: runs that wait for a slot.
    pub queued: AtomicU64,
    /// Gauge: changes that wait for a commit.
    pub pending_changes: AtomicU64,
}

pub(crate) fn increment_counter(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn set_gauge(gauge: &AtomicU64, value: usize) {
    gauge.store(value as u64, Ordering::Relaxed);
}
