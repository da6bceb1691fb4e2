//! Counters of logins and tokens: [`RbacMetrics`].

use std::sync::atomic::{AtomicU64, Ordering};

use crate::LoginError;

/// Counters that only grow. They contain no names of users.
#[derive(Debug, Default)]
pub struct RbacMetrics {
    /// Successful logins, with a password or through an identity provider.
    pub logins: AtomicU64,
    /// Failed logins for any reason, including lockouts.
    pub failed_logins: AtomicU64,
    /// Logins that were refused because of earlier failures.
    pub lockouts: AtomicU64,
    /// Token lookups that the cache answered.
    pub cache_hits: AtomicU64,
    /// Token lookups that read the store.
    pub cache_misses: AtomicU64,
}

pub(crate) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl RbacMetrics {
    pub(crate) fn count_login<T>(&self, outcome: &Result<T, LoginError>) {
        if outcome.is_ok() {
            return increment(&self.logins);
        }
        increment(&self.failed_logins);
        if matches!(
            outcome,
            Err(LoginError::LockedOut { .. } | LoginError::Locked)
        ) {
            increment(&self.lockouts);
        }
    }
}
