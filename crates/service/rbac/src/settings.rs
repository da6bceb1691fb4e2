//! Settings of RBAC: [`AuthSettings`].

use std::sync::Arc;
use std::time::Duration;
use store::{Clock, SystemClock};

use crate::defaults::{FAILED_LOGINS, USER_LOCK};
use crate::{ExternalDirectory, UnnamedEnvironmentScope};

/// Limits for logins and tokens, and the external directories.
#[derive(Clone, Debug)]
pub struct AuthSettings {
    /// Wrong passwords in a row, from all sources together, that lock a user for
    /// [`Self::user_lock`] or until an administrator reinstates the user; `None`: users are never
    /// locked. `admin` is only ever locked for an address: otherwise anonymous attempts could lock
    /// out the user who reinstates others.
    pub failed_logins_lock: Option<u32>,
    /// Duration of the lock of a user.
    pub user_lock: Duration,
    /// Time without use after which a token ends; `None` if unused tokens do not end early.
    pub token_inactivity: Option<Duration>,
    /// Maximum lifetime of tokens, including those created before this was set; `None`: the
    /// lifetime that a token was created with, at most
    /// [`MAX_LIFETIME`](crate::defaults::MAX_LIFETIME).
    pub token_max_lifetime: Option<Duration>,
    /// Environments to which a permission `tasks:run` or `plans:run` without an environment
    /// applies.
    pub unnamed_environment: UnnamedEnvironmentScope,
    /// External directories; `None` if there are only local users.
    pub directory: Option<Arc<dyn ExternalDirectory>>,
    /// Clock whose steady time measures locks and delays after failed logins.
    pub clock: Arc<dyn Clock>,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            failed_logins_lock: Some(FAILED_LOGINS),
            user_lock: USER_LOCK,
            token_inactivity: None,
            token_max_lifetime: None,
            unnamed_environment: UnnamedEnvironmentScope::default(),
            directory: None,
            clock: Arc::new(SystemClock),
        }
    }
}
