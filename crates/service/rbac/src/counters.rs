//! Counters of failures whose memory does not grow with what attackers invent.
//!
//! [`FailureCounter`] counts failures in a row and starts anew after a pause; [`DecayingCounter`]
//! forgets one failure after the other; [`BoundedCounters`] holds so many of either by key and
//! drops the one that failed longest ago. The caller brings the time.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::defaults::{FAILED_LOGINS, FAILURE_DECAY, LOCK_OUT, SLOW_STEP, SLOWEST};

/// Operations of every counter.
pub(crate) trait CountFailures: Default {
    /// CountFailures a failure; answers how many there are now.
    fn fail(&mut self, now_ms: i64) -> u32;
    /// Takes back a failure that was none in the end.
    fn take_back(&mut self);
    /// Time of the last failure.
    fn last_ms(&self) -> i64;
}

/// Failures in a row; a pause of [`LOCK_OUT`] ends the row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailureCounter {
    failures: u32,
    last_ms: i64,
}

/// Failures of which one is forgotten every [`FAILURE_DECAY`].
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
    /// Delay of the next attempt; `None` if it need not wait.
    pub(crate) fn lock(self, now_ms: i64) -> Option<Duration> {
        let passed = passed(self.last_ms, now_ms);
        (self.failures >= FAILED_LOGINS && passed < LOCK_OUT).then(|| LOCK_OUT - passed)
    }

    /// By how much the next attempt is slowed down, for failures beyond `unslowed`.
    pub(crate) fn delay(self, unslowed: u32, now_ms: i64) -> Duration {
        match passed(self.last_ms, now_ms) >= LOCK_OUT {
            true => Duration::ZERO,
            false => slowed(self.failures, unslowed),
        }
    }
}

impl CountFailures for FailureCounter {
    fn fail(&mut self, now_ms: i64) -> u32 {
        if passed(self.last_ms, now_ms) >= LOCK_OUT {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.last_ms = now_ms;
        self.failures
    }

    fn take_back(&mut self) {
        self.failures = self.failures.saturating_sub(1);
    }

    fn last_ms(&self) -> i64 {
        self.last_ms
    }
}

// === impl DecayingCounter ===

impl DecayingCounter {
    /// By how much the next attempt is slowed down, for failures beyond `unslowed`.
    pub(crate) fn delay(self, unslowed: u32, now_ms: i64) -> Duration {
        slowed(self.left(now_ms), unslowed)
    }

    fn left(self, now_ms: i64) -> u32 {
        let forgotten = passed(self.last_ms, now_ms).as_millis() / FAILURE_DECAY.as_millis();
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        self.failures.saturating_sub(forgotten)
    }
}

impl CountFailures for DecayingCounter {
    fn fail(&mut self, now_ms: i64) -> u32 {
        // Bounded, so that a long attack is forgotten as fast as a short one.
        let most = 2 * u32::try_from(SLOWEST.as_millis() / SLOW_STEP.as_millis()).unwrap_or(100);
        self.failures = (self.left(now_ms) + 1).min(most);
        self.last_ms = now_ms;
        self.failures
    }

    fn take_back(&mut self) {
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

    /// The counter of `key`; one that was never used when there is none.
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

    pub(crate) fn take_back(&mut self, key: &K) {
        // What was forgotten meanwhile stays so.
        if let Some(counter) = self.counters.get_mut(key) {
            counter.take_back();
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

fn slowed(failures: u32, unslowed: u32) -> Duration {
    let beyond = failures.saturating_sub(unslowed);
    SLOW_STEP.saturating_mul(beyond).min(SLOWEST)
}

/// Since `last_ms`; a clock that went back counts as no time at all.
fn passed(last_ms: i64, now_ms: i64) -> Duration {
    let ms = now_ms.saturating_sub(last_ms);
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
