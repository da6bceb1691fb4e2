//! Leases of memory for large incoming messages: [`MessageAssembly`], [`AssemblyLease`].
//!
//! Invariants: a session that waits for its lease is not read from; and a lease ends when its
//! message makes no progress, so that a peer that announces much and sends little does not block
//! others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pcp::Certname;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::assembly_queue::{AssemblyQueue, MessageNumber};
use crate::defaults::{ASSEMBLY_BYTES_PER_SECOND, ASSEMBLY_PROGRESS_BYTES, ASSEMBLY_STEP_BYTES};

/// Memory for large messages of all sessions together; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct MessageAssembly {
    queue: Arc<Mutex<SharedQueue>>,
    grace: Duration,
    progress_window: Duration,
    waits: Counter,
}

#[derive(Debug)]
struct SharedQueue {
    queue: AssemblyQueue,
    /// Wakes the sessions of waiting messages, by number.
    wakers: std::collections::HashMap<MessageNumber, Arc<Notify>>,
    reserved: Gauge,
}

/// Right of one large message to be received; returned when dropped.
#[derive(Debug)]
pub(crate) struct AssemblyLease {
    assembly: MessageAssembly,
    number: MessageNumber,
    granted: Arc<Notify>,
    reserved_bytes: usize,
    /// Start of the message, postponed by the time for which it waited for its lease.
    started: Instant,
    /// Time by which the message has to grow by [`ASSEMBLY_PROGRESS_BYTES`].
    window_end: Instant,
    /// Length of the message at the start of the window.
    window_bytes: usize,
}

/// A lease, or the future of one that has to wait for memory.
pub(crate) type AssemblyGrant = Result<AssemblyLease, BoxFuture<'static, AssemblyLease>>;

// === impl MessageAssembly ===

impl MessageAssembly {
    /// Creates the shared memory. A message may take `grace` and the time that its size allows, and
    /// has to make progress within each `progress_window`. `reserved` and `waits` are the metrics
    /// to update.
    pub(crate) fn new(
        total_bytes: usize,
        grace: Duration,
        progress_window: Duration,
        reserved: Gauge,
        waits: Counter,
    ) -> Self {
        let queue = SharedQueue {
            queue: AssemblyQueue::new(total_bytes),
            wakers: std::collections::HashMap::new(),
            reserved,
        };
        Self {
            queue: Arc::new(Mutex::new(queue)),
            grace,
            progress_window,
            waits,
        }
    }

    /// Requests a lease for a message of `certname` of which `held_bytes` have arrived and that has
    /// at most `at_most_bytes`.
    pub(crate) fn begin(
        &self,
        certname: &Certname,
        held_bytes: usize,
        at_most_bytes: usize,
    ) -> AssemblyGrant {
        let bytes = next_step(held_bytes, at_most_bytes);
        let granted = Arc::new(Notify::new());
        let (number, has_it) = {
            let mut shared = self.lock();
            let begun = shared.queue.begin(certname, bytes);
            shared.wakers.insert(begun.0, Arc::clone(&granted));
            shared.report_reserved();
            begun
        };
        let now = Instant::now();
        let lease = AssemblyLease {
            assembly: self.clone(),
            number,
            granted,
            reserved_bytes: bytes,
            started: now,
            window_end: now + self.progress_window,
            window_bytes: held_bytes,
        };
        lease.into_grant(has_it)
    }

    fn lock(&self) -> MutexGuard<'_, SharedQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl SharedQueue ===

impl SharedQueue {
    fn report_reserved(&self) {
        let reserved = self.queue.reserved_bytes();
        self.reserved
            .set(i64::try_from(reserved).unwrap_or(i64::MAX));
    }
}

// === impl AssemblyLease ===

impl AssemblyLease {
    /// True if the lease covers another read of `read_bytes`.
    pub(crate) fn covers(&self, held_bytes: usize, read_bytes: usize, at_most: usize) -> bool {
        self.reserved_bytes >= at_most || self.reserved_bytes >= held_bytes + read_bytes
    }

    /// Extends the lease by one step.
    pub(crate) fn grow(mut self, held_bytes: usize, at_most_bytes: usize) -> AssemblyGrant {
        self.reserved_bytes = next_step(held_bytes, at_most_bytes).max(self.reserved_bytes);
        let has_it = {
            let mut shared = self.assembly.lock();
            let has_it = shared.queue.grow(self.number, self.reserved_bytes);
            shared.report_reserved();
            has_it
        };
        self.into_grant(has_it)
    }

    /// Records that `held_bytes` of the message have arrived.
    pub(crate) fn record_progress(&mut self, held_bytes: usize) {
        if held_bytes >= self.window_bytes + ASSEMBLY_PROGRESS_BYTES {
            self.window_bytes = held_bytes;
            self.window_end = Instant::now() + self.assembly.progress_window;
        }
    }

    /// Time at which the message fails as too slow, unless more of it arrives before.
    pub(crate) fn deadline(&self) -> Instant {
        let rate = ASSEMBLY_BYTES_PER_SECOND as u64;
        let allowed_ms = self.reserved_bytes as u64 * 1_000 / rate;
        let whole = self.started + self.assembly.grace + Duration::from_millis(allowed_ms);
        whole.min(self.window_end)
    }

    fn into_grant(self, has_it: bool) -> AssemblyGrant {
        if has_it {
            return Ok(self);
        }
        self.assembly.waits.inc();
        Err(Box::pin(self.wait()))
    }

    async fn wait(mut self) -> Self {
        let began = Instant::now();
        while !self.assembly.lock().queue.has_what_it_wants(self.number) {
            self.granted.notified().await;
        }
        // The peer could not send while it waited, so its times are extended.
        let now = Instant::now();
        self.started += now - began;
        self.window_end = now + self.assembly.progress_window;
        self
    }
}

impl Drop for AssemblyLease {
    fn drop(&mut self) {
        let mut shared = self.assembly.lock();
        shared.wakers.remove(&self.number);
        for granted in shared.queue.end(self.number) {
            if let Some(waker) = shared.wakers.get(&granted) {
                waker.notify_one();
            }
        }
        shared.report_reserved();
    }
}

/// Bytes to reserve for a message of which `held_bytes` have arrived.
fn next_step(held_bytes: usize, at_most_bytes: usize) -> usize {
    let step = held_bytes.saturating_add(ASSEMBLY_STEP_BYTES);
    // A peer may announce fewer bytes than one read returns.
    step.min(at_most_bytes.max(held_bytes))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);
    const MIB: usize = 1 << 20;

    fn assembly(total_bytes: usize) -> MessageAssembly {
        MessageAssembly::new(
            total_bytes,
            Duration::from_secs(30),
            WINDOW,
            Gauge::default(),
            Counter::default(),
        )
    }

    fn name(text: &str) -> Certname {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_announced_reserves_nothing() {
        let assembly = assembly(512 * MIB);
        let lease = assembly.begin(&name("a.example"), 100_000, 64 * MIB);
        let lease = lease.ok().expect("memory");
        let reserved = assembly.lock().queue.reserved_bytes();
        assert_eq!(reserved, 100_000 + ASSEMBLY_STEP_BYTES);
        drop(lease);
        assert_eq!(assembly.lock().queue.reserved_bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_is_woken_and_has_a_new_window() {
        let assembly = assembly(MIB);
        let first = assembly
            .begin(&name("a.example"), MIB, MIB)
            .ok()
            .expect("memory");
        let mut second = assembly
            .begin(&name("b.example"), 1, MIB)
            .expect_err("none");
        assert!((&mut second).now_or_never().is_none());
        tokio::time::advance(WINDOW * 20).await;
        drop(first);
        let second = second.await;
        assert_eq!(second.deadline(), Instant::now() + WINDOW);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_has_to_move_on_within_each_window() {
        let assembly = assembly(64 * MIB);
        let lease = assembly.begin(&name("a.example"), 0, 64 * MIB);
        let mut lease = lease.ok().expect("memory");
        let start = Instant::now();
        lease.record_progress(ASSEMBLY_PROGRESS_BYTES - 1);
        tokio::time::advance(WINDOW / 2).await;
        assert_eq!(lease.deadline(), start + WINDOW, "too little");
        lease.record_progress(ASSEMBLY_PROGRESS_BYTES);
        assert_eq!(lease.deadline(), start + WINDOW / 2 + WINDOW);
    }
}
