//! Leave to receive large messages.
//!
//! [`Assembly`] is the budget of all sessions together. The rules: whoever asks, asks once, for all
//! that its message may become, so that nobody who holds a part waits for the rest and the holders
//! always come to their end; whoever waits is not read from; and first come, first served.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::defaults::ASSEMBLY_BYTES_PER_SECOND;

/// The budget.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    left: Arc<Semaphore>,
    total_bytes: u32,
    grace: Duration,
    reserved: Gauge,
    waits: Counter,
}

/// Leave for one message; given back when dropped.
#[derive(Debug)]
pub(crate) struct Leave {
    _permit: OwnedSemaphorePermit,
    bytes: u32,
    reserved: Gauge,
    /// When the message has to be complete.
    pub(crate) deadline: Instant,
}

// === impl Assembly ===

impl Assembly {
    /// A message may take `grace` and the time that its size allows. `reserved` and `waits` are kept
    /// up to date.
    pub(crate) fn new(
        total_bytes: usize,
        grace: Duration,
        reserved: Gauge,
        waits: Counter,
    ) -> Self {
        let total_bytes = u32::try_from(total_bytes).unwrap_or(u32::MAX);
        Self {
            left: Arc::new(Semaphore::new(total_bytes as usize)),
            total_bytes,
            grace,
            reserved,
            waits,
        }
    }

    /// Leave for a message of at most `bytes`, now or as soon as there is room. One that is larger
    /// than the whole budget gets all of it.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<Leave, BoxFuture<'static, Leave>> {
        let bytes = u32::try_from(bytes)
            .unwrap_or(u32::MAX)
            .min(self.total_bytes);
        if let Ok(permit) = Arc::clone(&self.left).try_acquire_many_owned(bytes) {
            return Ok(self.leave(permit, bytes));
        }
        self.waits.inc();
        let this = self.clone();
        Err(Box::pin(async move {
            let permit = Arc::clone(&this.left).acquire_many_owned(bytes).await;
            this.leave(permit.expect("never closed"), bytes)
        }))
    }

    fn leave(&self, permit: OwnedSemaphorePermit, bytes: u32) -> Leave {
        self.reserved.inc_by(i64::from(bytes));
        let seconds = u64::from(bytes) / ASSEMBLY_BYTES_PER_SECOND as u64;
        Leave {
            _permit: permit,
            bytes,
            reserved: self.reserved.clone(),
            deadline: Instant::now() + self.grace + Duration::from_secs(seconds),
        }
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.reserved.dec_by(i64::from(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn budget(total_bytes: usize) -> Assembly {
        Assembly::new(
            total_bytes,
            Duration::ZERO,
            Gauge::default(),
            Counter::default(),
        )
    }

    #[test]
    fn who_finds_no_room_waits_in_turn() {
        let budget = budget(100);
        let first = budget.reserve(60).ok().expect("room");
        let mut second = budget.reserve(60).expect_err("no room");
        assert!((&mut second).now_or_never().is_none());
        // Small enough, but behind one that waits.
        let mut third = budget.reserve(50).expect_err("no room before its turn");
        assert!((&mut third).now_or_never().is_none());
        assert_eq!((budget.reserved.get(), budget.waits.get()), (60, 2));
        drop(first);
        let second = second.now_or_never().expect("its turn");
        assert!((&mut third).now_or_never().is_none());
        drop(second);
        drop(third.now_or_never().expect("its turn"));
        assert_eq!(budget.reserved.get(), 0);
    }

    #[test]
    fn one_that_is_larger_than_all_gets_all() {
        let budget = budget(100);
        let leave = budget.reserve(1_000).ok().expect("room");
        assert_eq!(budget.reserved.get(), 100);
        drop(leave);
        assert_eq!(budget.reserved.get(), 0);
    }
}
