//! Counters of failures with bounded memory, regardless of how many keys attackers invent.
//!
//! [`FailureCounter`] counts consecutive failures and restarts after a pause. [`DecayingCounter`]
//! loses one failure per period. [`BoundedCounters`] maps keys to counters of either type and
//! evicts the counter with the oldest last failure. The caller passes the time.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::defaults::{FAILED_LOGINS, FAILURE_DECAY, LOCK_OUT, SLOW_STEP, SLOWEST};

/// Operations of every counter.
pub(crate) trait CountFailures: Default {
    /// Counts a failure and returns the new number of failures.
    fn fail(&mut self, now_ms: i64) -> u32;
    /// Uncounts a failure of an attempt that succeeded in the end.
    fn uncount(&mut self);
    /// Time of the last failure.
    fn last_ms(&self) -> i64;
}

/// Consecutive failures; a pause of [`LOCK_OUT`] resets the count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailureCounter {
    failures: u32,
    last_ms: i64,
}

/// Failures; the count drops by one every [`FAILURE_DECAY`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DecayingCounter {
    failures: u32,
    last_ms: i64,
}

/// At most `capacity` counters.
#[derive(Debug)]
pub(crate) struct BoundedCounters<K, C> {
    counters: HashMap<K, C>,
    capacity: usize,
}

// === impl FailureCounter ===

impl FailureCounter {
    /// Remaining lock; `None` if the next attempt is allowed.
    pub(crate) fn remaining_lock(self, now_ms: i64) -> Option<Duration> {
        let passed = elapsed_since(self.last_ms, now_ms);
        (self.failures >= FAILED_LOGINS && passed < LOCK_OUT).then(|| LOCK_OUT - passed)
    }

    /// Delay of the next attempt, which grows with each failure beyond `unslowed`.
    pub(crate) fn delay(self, unslowed: u32, now_ms: i64) -> Duration {
        match elapsed_since(self.last_ms, now_ms) >= LOCK_OUT {
            true => Duration::ZERO,
            false => delay_after(self.failures, unslowed),
        }
    }
}

impl CountFailures for FailureCounter {
    fn fail(&mut self, now_ms: i64) -> u32 {
        if elapsed_since(self.last_ms, now_ms) >= LOCK_OUT {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.last_ms = now_ms;
        self.failures
    }

    fn uncount(&mut self) {
        self.failures = self.failures.saturating_sub(1);
    }

    fn last_ms(&self) -> i64 {
        self.last_ms
    }
}

// === impl DecayingCounter ===

impl DecayingCounter {
    /// Delay of the next attempt, which grows with each failure beyond `unslowed`.
    pub(crate) fn delay(self, unslowed: u32, now_ms: i64) -> Duration {
        delay_after(self.remaining_failures(now_ms), unslowed)
    }

    fn remaining_failures(self, now_ms: i64) -> u32 {
        let forgotten = elapsed_since(self.last_ms, now_ms).as_millis() / FAILURE_DECAY.as_millis();
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        self.failures.saturating_sub(forgotten)
    }
}

impl CountFailures for DecayingCounter {
    fn fail(&mut self, now_ms: i64) -> u32 {
        // Bounded, so that the count decays as fast after a long attack as after a short one.
        let most = 2 * u32::try_from(SLOWEST.as_millis() / SLOW_STEP.as_millis()).unwrap_or(100);
        self.failures = (self.remaining_failures(now_ms) + 1).min(most);
        self.last_ms = now_ms;
        self.failures
    }

    fn uncount(&mut self) {
        self.failures = self.failures.saturating_sub(1);
    }

    fn last_ms(&self) -> i64 {
        self.last_ms
    }
}

// === impl BoundedCounters ===

impl<K: Clone + Eq + Hash, C: CountFailures + Copy> BoundedCounters<K, C> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            counters: HashMap::new(),
            capacity,
        }
    }

    /// The counter of `key`, or a new one if there is none.
    pub(crate) fn get(&self, key: &K) -> C {
        self.counters.get(key).copied().unwrap_or_default()
    }

    pub(crate) fn fail(&mut self, key: K, now_ms: i64) -> u32 {
        if self.counters.len() >= self.capacity && !self.counters.contains_key(&key) {
            let oldest = self.counters.iter().min_by_key(|(_, c)| c.last_ms());
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.counters.remove(&oldest);
            }
        }
        self.counters.entry(key).or_default().fail(now_ms)
    }

    pub(crate) fn uncount_key(&mut self, key: &K) {
        // The counter may have been evicted in the meantime.
        if let Some(counter) = self.counters.get_mut(key) {
            counter.uncount();
        }
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.counters.remove(key);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.counters.len()
    }
}

fn delay_after(failures: u32, unslowed: u32) -> Duration {
    let beyond = failures.saturating_sub(unslowed);
    SLOW_STEP.saturating_mul(beyond).min(SLOWEST)
}

/// Time since `last_ms`, or zero if the clock went back.
fn elapsed_since(last_ms: i64, now_ms: i64) -> Duration {
    let ms = now_ms.saturating_sub(last_ms);
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
