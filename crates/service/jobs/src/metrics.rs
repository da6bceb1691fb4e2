//! Counters of the engine, for whoever exports them.
//!
//! [`Metrics`]; the rule: plain atomics, written by the engine alone, so reading costs nobody.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters (they only grow) and gauges of one engine.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Jobs committed.
    pub jobs_created: AtomicU64,
    /// Runs marked as running.
    pub runs_started: AtomicU64,
    /// Runs that ended, whatever way.
    pub runs_ended: AtomicU64,
    /// Of these: could not run, or how they ended is not known.
    pub runs_errored: AtomicU64,
    /// Requests sent again because the agent proved that it never got them.
    pub requests_resent: AtomicU64,
    /// Status queries sent.
    pub status_queries: AtomicU64,
    /// Outcomes that came after their run was given up.
    pub late_outcomes: AtomicU64,
    /// Messages that came for a run of another node.
    pub forged_messages: AtomicU64,
    /// Messages that could not be read, or that nobody waits for.
    pub ignored_messages: AtomicU64,
    /// Pieces of output that came unasked.
    pub unasked_output: AtomicU64,
    /// Commits that failed and were tried again.
    pub commit_failures: AtomicU64,
    /// Changes that the store refused for good.
    pub refused_changes: AtomicU64,
    /// Gauge: runs that hold a slot.
    pub in_flight: AtomicU64,
    /// Gauge: runs that wait for a slot.
    pub queued: AtomicU64,
    /// Gauge: changes that wait for a commit.
    pub pending_changes: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn set(gauge: &AtomicU64, value: usize) {
    gauge.store(value as u64, Ordering::Relaxed);
}
