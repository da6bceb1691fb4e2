//! Metrics of logins and tokens: [`RbacMetrics`].

use telemetry::metrics::Counter;

use crate::LoginError;

telemetry::metrics! {
    /// Counters since the start of the server. They contain no names of users.
    pub struct RbacMetrics {
        /// Successful logins, with a password or through an identity provider.
        pub logins: Counter = "logins",
        /// Failed logins for any reason, including lockouts.
        pub failed_logins: Counter = "failed_logins",
        /// Logins that were refused because of earlier failures.
        pub lockouts: Counter = "lockouts",
        /// Token lookups that the cache answered.
        pub cache_hits: Counter = "token_cache_hits",
        /// Token lookups that read the store.
        pub cache_misses: Counter = "token_cache_misses",
    }
}

impl RbacMetrics {
    pub(crate) fn count_login<T>(&self, outcome: &Result<T, LoginError>) {
        if outcome.is_ok() {
            self.logins.inc();
            return;
        }
        self.failed_logins.inc();
        if matches!(
            outcome,
            Err(LoginError::LockedOut { .. } | LoginError::Locked)
        ) {
            self.lockouts.inc();
        }
    }
}
