//! Which logins are locked after failures. Pure: the caller brings the time.
//!
//! The rule: memory does not grow with what attackers invent. Users that exist have a counter
//! each; all other names share a fixed number of them, chosen by a keyed hash, so that a name
//! that does not exist is locked just like one that does.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::defaults::{FAILED_LOGINS, LOCK_OUT, UNKNOWN_LOGINS};

/// The counters.
#[derive(Debug)]
pub(crate) struct LockOut {
    known: HashMap<String, Counter>,
    unknown: Vec<Counter>,
    hasher: RandomState,
}

/// Whose counter it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who<'a> {
    /// A user, by id.
    Known(&'a str),
    /// A name that no user has.
    Unknown(&'a str),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    failures: u32,
    last_ms: i64,
}

impl LockOut {
    pub(crate) fn new() -> Self {
        Self {
            known: HashMap::new(),
            unknown: vec![Counter::default(); UNKNOWN_LOGINS],
            hasher: RandomState::new(),
        }
    }

    /// How long `who` has to wait; `None`: may try.
    pub(crate) fn wait(&self, who: Who<'_>, now_ms: i64) -> Option<Duration> {
        let counter = match who {
            Who::Known(id) => *self.known.get(id)?,
            Who::Unknown(login) => self.unknown[self.slot(login)],
        };
        counter.wait(now_ms)
    }

    /// Takes down a failure; `true`: it locked the login.
    pub(crate) fn failed(&mut self, who: Who<'_>, now_ms: i64) -> bool {
        let slot = match who {
            Who::Known(_) => 0,
            Who::Unknown(login) => self.slot(login),
        };
        let counter = match who {
            Who::Known(id) => self.known.entry(id.to_owned()).or_default(),
            Who::Unknown(_) => &mut self.unknown[slot],
        };
        counter.fail(now_ms);
        counter.failures == FAILED_LOGINS
    }

    /// A login that went well wipes the slate.
    pub(crate) fn succeeded(&mut self, user_id: &str) {
        self.known.remove(user_id);
    }

    fn slot(&self, login: &str) -> usize {
        // Reduced modulo the number of slots first, so it fits.
        (self.hasher.hash_one(login) % UNKNOWN_LOGINS as u64) as usize
    }
}

impl Counter {
    fn wait(self, now_ms: i64) -> Option<Duration> {
        let passed = self.passed(now_ms);
        (self.failures >= FAILED_LOGINS && passed < LOCK_OUT).then(|| LOCK_OUT - passed)
    }

    fn fail(&mut self, now_ms: i64) {
        // Failures that are long past count no more, nor do those before a lock that is over.
        if self.passed(now_ms) >= LOCK_OUT {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.last_ms = now_ms;
    }

    /// Since the last failure; a clock that went back counts as no time at all.
    fn passed(self, now_ms: i64) -> Duration {
        let ms = now_ms.saturating_sub(self.last_ms);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000_000;

    fn fail(locks: &mut LockOut, who: Who<'_>, times: u32) -> Vec<bool> {
        (0..times).map(|_| locks.failed(who, NOW)).collect()
    }

    #[test]
    fn the_tenth_failure_locks_known_and_unknown_alike() {
        for who in [Who::Known("id"), Who::Unknown("nobody")] {
            let mut locks = LockOut::new();
            assert_eq!(fail(&mut locks, who, 9), [false; 9]);
            assert_eq!(locks.wait(who, NOW), None);
            assert!(locks.failed(who, NOW));
            assert_eq!(locks.wait(who, NOW), Some(LOCK_OUT));
            let end = NOW + i64::try_from(LOCK_OUT.as_millis()).unwrap();
            assert_eq!(locks.wait(who, end - 1), Some(Duration::from_millis(1)));
            assert_eq!(locks.wait(who, end), None);
            // A fresh start: not locked again by the next mistake.
            assert!(!locks.failed(who, end));
            assert_eq!(locks.wait(who, end), None);
        }
    }

    #[test]
    fn a_success_wipes_the_slate_of_that_user_only() {
        let mut locks = LockOut::new();
        fail(&mut locks, Who::Known("a"), 9);
        fail(&mut locks, Who::Known("b"), 10);
        locks.succeeded("a");
        assert!(!locks.failed(Who::Known("a"), NOW));
        assert!(locks.wait(Who::Known("b"), NOW).is_some());
    }

    #[test]
    fn invented_names_take_no_memory() {
        let mut locks = LockOut::new();
        for i in 0..10_000 {
            locks.failed(Who::Unknown(&format!("user{i}")), NOW);
        }
        assert_eq!(locks.unknown.len(), UNKNOWN_LOGINS);
        assert!(locks.known.is_empty());
    }

    #[test]
    fn a_clock_that_goes_back_keeps_the_lock() {
        let mut locks = LockOut::new();
        fail(&mut locks, Who::Known("a"), 10);
        assert_eq!(locks.wait(Who::Known("a"), NOW - 5_000), Some(LOCK_OUT));
    }
}
