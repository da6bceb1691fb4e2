//! Who has to wait after failed logins. Pure: the caller brings the time.
//!
//! Two counters for each failure. That of the login and the address it came from locks this
//! address out, so that an attacker locks nobody out but himself. That of the login alone slows
//! everybody down a little, so that many addresses do not guess much faster than one.
//!
//! The rule: memory does not grow with what attackers invent. Users that exist have counters of
//! their own, for so many addresses; all other names share a fixed number of them, chosen by a
//! keyed hash, so that a name that does not exist is locked just like one that does.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::defaults::{
    FAILED_LOGINS, LOCK_OUT, SLOW_STEP, SLOWEST, SOURCES_PER_USER, UNKNOWN_LOGINS,
    UNSLOWED_FAILURES,
};

/// The counters.
#[derive(Debug)]
pub(crate) struct LockOut {
    known: HashMap<String, User>,
    unknown: Vec<Counter>,
    unknown_from: Vec<Counter>,
    hasher: RandomState,
}

/// Whose counter it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who<'a> {
    /// A user, by id.
    Known(&'a str),
    /// A name that no user has, as [`folded`] gives it.
    Unknown(&'a str),
}

/// A login as it is counted: spelled otherwise, it is the same one to a directory.
pub(crate) fn folded(login: &str) -> String {
    spaced(login).to_lowercase()
}

/// Without spaces at the ends, and with one where there are several: directories see no
/// difference (RFC 4518, 2.6.1).
pub(crate) fn spaced(login: &str) -> String {
    let words: Vec<&str> = login.split_whitespace().collect();
    words.join(" ")
}

/// Where an attempt comes from, as far as its sender cannot choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source(Option<IpAddr>);

#[derive(Debug, Default)]
struct User {
    all: Counter,
    from: HashMap<Source, Counter>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    failures: u32,
    last_ms: i64,
}

// === impl LockOut ===

impl LockOut {
    pub(crate) fn new() -> Self {
        let counters = || vec![Counter::default(); UNKNOWN_LOGINS];
        Self {
            known: HashMap::new(),
            unknown: counters(),
            unknown_from: counters(),
            hasher: RandomState::new(),
        }
    }

    /// How long `who` has to wait before another attempt from `source`; `None`: may try.
    pub(crate) fn wait(&self, who: Who<'_>, source: Source, now_ms: i64) -> Option<Duration> {
        let counter = match who {
            Who::Known(id) => *self.known.get(id)?.from.get(&source)?,
            Who::Unknown(login) => self.unknown_from[self.slot((login, source))],
        };
        counter.wait(now_ms)
    }

    /// How long an attempt of `who` is held up, wherever it comes from.
    pub(crate) fn delay(&self, who: Who<'_>, now_ms: i64) -> Duration {
        let counter = match who {
            Who::Known(id) => self.known.get(id).map(|user| user.all).unwrap_or_default(),
            Who::Unknown(login) => self.unknown[self.slot(login)],
        };
        counter.delay(now_ms)
    }

    /// Takes down a failure; `true`: it locked the login for `source`.
    pub(crate) fn failed(&mut self, who: Who<'_>, source: Source, now_ms: i64) -> bool {
        match who {
            Who::Known(id) => {
                let user = self.known.entry(id.to_owned()).or_default();
                user.all.fail(now_ms);
                user.from(source).fail(now_ms)
            }
            Who::Unknown(login) => {
                let (all, from) = (self.slot(login), self.slot((login, source)));
                self.unknown[all].fail(now_ms);
                self.unknown_from[from].fail(now_ms)
            }
        }
    }

    /// Takes a failure back that was none in the end.
    pub(crate) fn take_back(&mut self, who: Who<'_>, source: Source) {
        match who {
            Who::Known(id) => {
                // What was forgotten meanwhile stays so.
                if let Some(user) = self.known.get_mut(id) {
                    user.all.take_back();
                    if let Some(counter) = user.from.get_mut(&source) {
                        counter.take_back();
                    }
                }
            }
            Who::Unknown(login) => {
                let (all, from) = (self.slot(login), self.slot((login, source)));
                self.unknown[all].take_back();
                self.unknown_from[from].take_back();
            }
        }
    }

    /// A login that went well wipes the slate of its source. The login stays slow: its owner
    /// does not make an attacker faster.
    pub(crate) fn succeeded(&mut self, user_id: &str, source: Source) {
        if let Some(user) = self.known.get_mut(user_id) {
            user.from.remove(&source);
        }
    }

    fn slot(&self, of: impl Hash) -> usize {
        // Reduced modulo the number of slots first, so it fits.
        (self.hasher.hash_one(of) % UNKNOWN_LOGINS as u64) as usize
    }
}

// === impl Source ===

impl Source {
    /// Of an IPv6 address its network of 64 bits, which is the least that anybody is given.
    pub(crate) fn new(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
            v4 => v4,
        }))
    }
}

/// For the log.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(IpAddr::V6(network)) => write!(f, "{network}/64"),
            Some(address) => address.fmt(f),
            None => f.write_str("unknown"),
        }
    }
}

// === impl User ===

impl User {
    fn from(&mut self, source: Source) -> &mut Counter {
        if self.from.len() >= SOURCES_PER_USER && !self.from.contains_key(&source) {
            let oldest = self.from.iter().min_by_key(|(_, counter)| counter.last_ms);
            if let Some((&oldest, _)) = oldest {
                self.from.remove(&oldest);
            }
        }
        self.from.entry(source).or_default()
    }
}

// === impl Counter ===

impl Counter {
    fn wait(self, now_ms: i64) -> Option<Duration> {
        let passed = self.passed(now_ms);
        (self.failures >= FAILED_LOGINS && passed < LOCK_OUT).then(|| LOCK_OUT - passed)
    }

    fn delay(self, now_ms: i64) -> Duration {
        if self.passed(now_ms) >= LOCK_OUT {
            return Duration::ZERO;
        }
        let beyond = self.failures.saturating_sub(UNSLOWED_FAILURES);
        SLOW_STEP.saturating_mul(beyond).min(SLOWEST)
    }

    /// `true` when this failure locks.
    fn fail(&mut self, now_ms: i64) -> bool {
        // Failures that are long past count no more, nor do those before a lock that is over.
        if self.passed(now_ms) >= LOCK_OUT {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.last_ms = now_ms;
        self.failures == FAILED_LOGINS
    }

    fn take_back(&mut self) {
        self.failures = self.failures.saturating_sub(1);
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
    const HERE: Source = Source(None);

    fn from(address: &str) -> Source {
        Source::new(Some(address.parse().unwrap()))
    }

    fn fail(locks: &mut LockOut, who: Who<'_>, source: Source, times: u32) -> Vec<bool> {
        (0..times).map(|_| locks.failed(who, source, NOW)).collect()
    }

    fn after(passed: Duration) -> i64 {
        NOW + i64::try_from(passed.as_millis()).unwrap()
    }

    #[test]
    fn the_tenth_failure_locks_known_and_unknown_alike() {
        for who in [Who::Known("id"), Who::Unknown("nobody")] {
            let mut locks = LockOut::new();
            assert_eq!(fail(&mut locks, who, HERE, 9), [false; 9]);
            assert_eq!(locks.wait(who, HERE, NOW), None);
            assert!(locks.failed(who, HERE, NOW));
            assert_eq!(locks.wait(who, HERE, NOW), Some(LOCK_OUT));
            let end = after(LOCK_OUT);
            let almost = locks.wait(who, HERE, end - 1);
            assert_eq!(almost, Some(Duration::from_millis(1)));
            assert_eq!(locks.wait(who, HERE, end), None);
            // A fresh start: not locked again by the next mistake.
            assert!(!locks.failed(who, HERE, end));
            assert_eq!(locks.wait(who, HERE, end), None);
        }
    }

    #[test]
    fn a_lock_is_for_the_address_that_failed() {
        let attacker = from("192.0.2.1");
        for who in [Who::Known("id"), Who::Unknown("nobody")] {
            let mut locks = LockOut::new();
            fail(&mut locks, who, attacker, 1_000);
            assert!(locks.wait(who, attacker, NOW).is_some());
            assert_eq!(locks.wait(who, from("192.0.2.2"), NOW), None);
            assert_eq!(locks.wait(who, HERE, NOW), None);
        }
    }

    #[test]
    fn one_host_is_one_source() {
        assert_eq!(from("::ffff:192.0.2.1"), from("192.0.2.1"));
        assert_eq!(from("2001:db8::1"), from("2001:db8::ffff:0:0:1"));
        assert_ne!(from("2001:db8::1"), from("2001:db8:0:1::1"));
        assert_ne!(from("192.0.2.1"), from("192.0.2.2"));
    }

    #[test]
    fn what_is_taken_back_counts_no_more() {
        for who in [Who::Known("id"), Who::Unknown("nobody")] {
            let mut locks = LockOut::new();
            fail(&mut locks, who, HERE, 10);
            locks.take_back(who, HERE);
            assert_eq!(locks.wait(who, HERE, NOW), None);
            assert!(locks.failed(who, HERE, NOW), "the tenth again");
            assert!(locks.wait(who, HERE, NOW).is_some());
            locks.take_back(who, from("192.0.2.1"));
            assert!(locks.wait(who, HERE, NOW).is_some(), "of one source only");
        }
    }

    #[test]
    fn other_spellings_are_counted_as_one() {
        for spelled in ["rita k", " RITA K", "Rita\u{a0}  k\t"] {
            assert_eq!(folded(spelled), "rita k");
        }
    }

    #[test]
    fn many_failures_slow_a_login_down_from_everywhere_and_a_success_does_not_help() {
        for who in [Who::Known("id"), Who::Unknown("nobody")] {
            let mut locks = LockOut::new();
            fail(&mut locks, who, HERE, UNSLOWED_FAILURES);
            assert_eq!(locks.delay(who, NOW), Duration::ZERO);
            fail(&mut locks, who, from("192.0.2.1"), 3);
            locks.succeeded("id", HERE);
            assert_eq!(locks.delay(who, NOW), SLOW_STEP * 3);
            fail(&mut locks, who, HERE, 1_000);
            assert_eq!(locks.delay(who, NOW), SLOWEST);
            assert_eq!(locks.delay(who, after(LOCK_OUT)), Duration::ZERO);
        }
    }

    #[test]
    fn a_success_wipes_the_slate_of_that_user_and_source_only() {
        let mut locks = LockOut::new();
        let (a, b) = (Who::Known("a"), Who::Known("b"));
        fail(&mut locks, a, HERE, 9);
        fail(&mut locks, a, from("192.0.2.1"), 10);
        fail(&mut locks, b, HERE, 10);
        locks.succeeded("a", HERE);
        assert!(!locks.failed(a, HERE, NOW));
        assert!(locks.wait(a, from("192.0.2.1"), NOW).is_some());
        assert!(locks.wait(b, HERE, NOW).is_some());
    }

    #[test]
    fn invented_names_and_addresses_take_no_memory() {
        let mut locks = LockOut::new();
        for i in 0..10_000 {
            let source = Source(Some(std::net::Ipv4Addr::from_bits(i).into()));
            locks.failed(Who::Unknown(&format!("user{i}")), source, NOW);
            locks.failed(Who::Known("id"), source, NOW + i64::from(i));
        }
        assert_eq!(locks.unknown.len(), UNKNOWN_LOGINS);
        assert_eq!(locks.unknown_from.len(), UNKNOWN_LOGINS);
        assert_eq!(locks.known.len(), 1);
        let sources = &locks.known["id"].from;
        assert_eq!(sources.len(), SOURCES_PER_USER);
        // The latest are those that are remembered.
        let last = std::net::Ipv4Addr::from_bits(9_999);
        assert!(sources.contains_key(&Source(Some(last.into()))));
    }

    #[test]
    fn a_clock_that_goes_back_keeps_the_lock() {
        let mut locks = LockOut::new();
        fail(&mut locks, Who::Known("a"), HERE, 10);
        let wait = locks.wait(Who::Known("a"), HERE, NOW - 5_000);
        assert_eq!(wait, Some(LOCK_OUT));
    }
}
