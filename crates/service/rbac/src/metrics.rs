//! Counters of logins and tokens, for whoever exports them: [`RbacMetrics`].

use std::sync::atomic::{AtomicU64, Ordering};

use crate::LoginError;

/// Counters; they only grow. They name nobody.
#[derive(Debug, Default)]
pub struct RbacMetrics {
    /// Logins that succeeded, with a password or by the word of an identity provider.
    pub logins: AtomicU64,
    /// Logins that did not, whatever the reason; lockouts are among them.
    pub failed_logins: AtomicU64,
    /// Logins that were refused because of earlier failures.
    pub lockouts: AtomicU64,
    /// Tokens that were known from memory.
    pub cache_hits: AtomicU64,
    /// Tokens that the store was asked about.
    pub cache_misses: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl RbacMetrics {
    pub(crate) fn login<T>(&self, outcome: &Result<T, LoginError>) {
        if outcome.is_ok() {
            return count(&self.logins);
        }
        count(&self.failed_logins);
        if matches!(
            outcome,
            Err(LoginError::LockedOut { .. } | LoginError::Locked)
        ) {
            count(&self.lockouts);
        }
    }
}
