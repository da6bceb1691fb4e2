//! Delays and locks after failed logins: [`LockOut`]. It does no I/O: the caller passes the time,
//! in milliseconds of a monotonic clock.
//!
//! Invariants: the counters never depend on the existence of a user. Names are counted as typed
//! (folded), so unknown names are delayed and locked exactly like names of users. Memory is
//! bounded, regardless of how many names attackers invent.
//!
//! Each failure increments four counters. The counter of the pair of name and source locks the name
//! for this source only, so an attacker cannot lock out other sources. The counters of the name,
//! the source and the password delay attempts: many sources cannot guess the password of one name
//! much faster than one source can, and neither one source nor one password can be tried with many
//! names at full speed.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use admission::PeerNetwork;
use secrecy::{ExposeSecret as _, SecretString};

use crate::counters::{BoundedCounters, DecayingCounter, FailureCounter};
use crate::defaults::{
    COUNTED_NAMES, COUNTED_PAIRS, COUNTED_PASSWORDS, COUNTED_SOURCES, FAILED_LOGINS,
    SOURCES_PER_USER, UNSLOWED_FAILURES, UNSLOWED_PASSWORD_USES,
};

/// Counters of failed logins, and the locks of users.
#[derive(Debug)]
pub(crate) struct LockOut {
    pairs: BoundedCounters<(String, LoginSource), FailureCounter>,
    names: BoundedCounters<String, FailureCounter>,
    sources: BoundedCounters<LoginSource, DecayingCounter>,
    passwords: BoundedCounters<u64, DecayingCounter>,
    /// The last name that each password failed for. A user who repeats a mistake is counted once.
    last_names: HashMap<u64, String>,
    /// Sources from which a user has logged in, by user id.
    known_sources: HashMap<String, Vec<LoginSource>>,
    /// Start of the lock in milliseconds, by user id, for users with too many failures from all
    /// sources together.
    user_locks: HashMap<String, i64>,
    /// Start of this server. Locks that it found in the store are timed from here.
    started_ms: i64,
    hasher: RandomState,
}

/// The keys under which one login attempt is counted.
#[derive(Clone, Debug)]
pub(crate) struct LoginAttempt {
    /// Login name in [`fold_login`] spelling.
    name: String,
    source: LoginSource,
    /// Keyed hash of the password; the key stays in memory.
    password: u64,
}

/// Network that a login attempt comes from: the part of the address that the sender cannot choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LoginSource(Option<PeerNetwork>);

/// The login in the spelling that is counted: a directory ignores case and extra spaces.
pub(crate) fn fold_login(login: &str) -> String {
    normalize_spaces(login).to_lowercase()
}

/// The login without leading, trailing and repeated spaces, which directories ignore (RFC 4518,
/// 2.6.1).
pub(crate) fn normalize_spaces(login: &str) -> String {
    let words: Vec<&str> = login.split_whitespace().collect();
    words.join(" ")
}

// === impl LockOut ===

impl LockOut {
    pub(crate) fn new(started_ms: i64) -> Self {
        Self {
            pairs: BoundedCounters::new(COUNTED_PAIRS),
            names: BoundedCounters::new(COUNTED_NAMES),
            sources: BoundedCounters::new(COUNTED_SOURCES),
            passwords: BoundedCounters::new(COUNTED_PASSWORDS),
            last_names: HashMap::new(),
            known_sources: HashMap::new(),
            user_locks: HashMap::new(),
            started_ms,
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn to_attempt(
        &self,
        login: &str,
        password: &SecretString,
        source: LoginSource,
    ) -> LoginAttempt {
        LoginAttempt {
            name: fold_login(login),
            source,
            password: self.hasher.hash_one(password.expose_secret()),
        }
    }

    /// Remaining lock of the name for the source; `None` if it is not locked.
    pub(crate) fn remaining_lock(&self, attempt: &LoginAttempt, now_ms: i64) -> Option<Duration> {
        self.pairs
            .get(&attempt.name_and_source())
            .remaining_lock(now_ms)
    }

    /// Delay of the attempt.
    pub(crate) fn delay(&self, attempt: &LoginAttempt, now_ms: i64) -> Duration {
        let name = self.names.get(&attempt.name);
        let source = self.sources.get(&attempt.source);
        let password = self.passwords.get(&attempt.password);
        name.delay(UNSLOWED_FAILURES, now_ms)
            .max(source.delay(UNSLOWED_FAILURES, now_ms))
            .max(password.delay(UNSLOWED_PASSWORD_USES, now_ms))
    }

    /// Counts a failure. Returns true if it locked the name for the source.
    pub(crate) fn count_failure(&mut self, attempt: &LoginAttempt, now_ms: i64) -> bool {
        self.names.fail(attempt.name.clone(), now_ms);
        self.sources.fail(attempt.source, now_ms);
        self.count_password(attempt, now_ms);
        self.pairs.fail(attempt.name_and_source(), now_ms) == FAILED_LOGINS
    }

    /// Uncounts a failure of an attempt that succeeded in the end.
    pub(crate) fn uncount_failure(&mut self, attempt: &LoginAttempt) {
        self.pairs.uncount_key(&attempt.name_and_source());
        self.names.uncount_key(&attempt.name);
        self.sources.uncount_key(&attempt.source);
        self.passwords.uncount_key(&attempt.password);
    }

    /// Ends the lock of the name for the source after a successful login. The counters of name,
    /// source and password stay, so that attackers gain nothing from an account of their own.
    pub(crate) fn end_lock(&mut self, attempt: &LoginAttempt) {
        self.pairs.remove(&attempt.name_and_source());
    }

    /// Records that the user has logged in from `source`.
    pub(crate) fn remember_source(&mut self, user_id: &str, source: LoginSource) {
        let sources = self.known_sources.entry(user_id.to_owned()).or_default();
        sources.retain(|known| *known != source);
        if sources.len() >= SOURCES_PER_USER {
            sources.remove(0);
        }
        sources.push(source);
    }

    /// True if the user has logged in from `source` since the server started.
    pub(crate) fn is_known_source(&self, user_id: &str, source: LoginSource) -> bool {
        let sources = self.known_sources.get(user_id);
        sources.is_some_and(|sources| sources.contains(&source))
    }

    /// Locks the user from now on.
    pub(crate) fn lock_user(&mut self, user_id: &str, now_ms: i64) {
        self.user_locks.insert(user_id.to_owned(), now_ms);
    }

    /// True if the lock of the user began at least `lock_time` ago.
    pub(crate) fn is_user_lock_over(
        &self,
        user_id: &str,
        lock_time: Duration,
        now_ms: i64,
    ) -> bool {
        let since = self.user_locks.get(user_id);
        let since = since.copied().unwrap_or(self.started_ms);
        now_ms.saturating_sub(since) >= crate::milliseconds::to_ms(lock_time)
    }

    fn count_password(&mut self, attempt: &LoginAttempt, now_ms: i64) {
        let last = self.last_names.get(&attempt.password);
        if last == Some(&attempt.name) {
            return;
        }
        if self.last_names.len() >= COUNTED_PASSWORDS {
            self.last_names.clear();
        }
        self.last_names
            .insert(attempt.password, attempt.name.clone());
        self.passwords.fail(attempt.password, now_ms);
    }
}

// === impl LoginAttempt ===

impl LoginAttempt {
    pub(crate) fn source(&self) -> LoginSource {
        self.source
    }

    fn name_and_source(&self) -> (String, LoginSource) {
        (self.name.clone(), self.source)
    }
}

// === impl LoginSource ===

impl LoginSource {
    /// The source of an address: for IPv6 the /64 network, the smallest that a site gets.
    pub(crate) fn new(address: Option<IpAddr>) -> Self {
        Self(address.map(PeerNetwork::from))
    }
}

/// The address or network as log lines show it.
impl fmt::Display for LoginSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(network) => network.fmt(f),
            None => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests;
