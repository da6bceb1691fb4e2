//! What an operator may set: [`Settings`].

use std::sync::Arc;
use std::time::Duration;

use crate::defaults::{FAILED_LOGINS, USER_LOCK};
use crate::{Directory, UnnamedEnvironment};

/// How logins are guarded, and where users come from beside this server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Wrong passwords in a row, from wherever, that lock a user for [`Self::user_lock`] or until
    /// he is reinstated; `None`: never. `admin` is only ever locked for an address, or anybody could lock out the
    /// one who reinstates.
    pub failed_logins_lock: Option<u32>,
    /// How long such a lock lasts.
    pub user_lock: Duration,
    /// A token that is not used for so long ends; `None`: it lives as long as it was given.
    pub token_inactivity: Option<Duration>,
    /// How long a token may live at most, also one that was made before this was set; `None`: as long as it
    /// was given, which is [`MAX_LIFETIME`](crate::defaults::MAX_LIFETIME) at most.
    pub token_max_lifetime: Option<Duration>,
    /// What `tasks:run` and `plans:run` mean where they name no environment.
    pub unnamed_environment: UnnamedEnvironment,
    /// Where users come from who are not of this server.
    pub directory: Option<Arc<dyn Directory>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            failed_logins_lock: Some(FAILED_LOGINS),
            user_lock: USER_LOCK,
            token_inactivity: None,
            token_max_lifetime: None,
            unnamed_environment: UnnamedEnvironment::default(),
            directory: None,
        }
    }
}
