//! `[access]` of `tutti.toml`: protection of logins, and programs that need none. Main type:
//! [`AccessSection`].

use serde::Deserialize;

/// Protection of logins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AccessSection {
    /// Certnames of programs that may do everything without a token, as `api_user`.
    pub certificate_allowlist: Vec<String>,
    /// Number of wrong passwords in a row that lock a user until reinstated; 0 = never.
    pub failed_logins_lock: u32,
    /// Duration of such a lock in seconds.
    pub failed_logins_lock_s: u64,
    /// Seconds without use after which a token expires; 0 = never.
    pub token_inactivity_s: u64,
    /// Maximum lifetime of a token in seconds; 0 = ten years.
    pub token_max_lifetime_s: u64,
    /// Environments to which a permission `tasks:run` or `plans:run` without an environment
    /// applies.
    pub unnamed_environment: UnnamedEnvironment,
}

/// Environment of a permission that names none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UnnamedEnvironment {
    /// The environment of each node.
    #[default]
    Own,
    /// Any environment, on every node.
    Any,
}

impl Default for AccessSection {
    fn default() -> Self {
        Self {
            certificate_allowlist: Vec::new(),
            failed_logins_lock: rbac::defaults::FAILED_LOGINS,
            failed_logins_lock_s: rbac::defaults::USER_LOCK.as_secs(),
            token_inactivity_s: 0,
            token_max_lifetime_s: 0,
            unnamed_environment: UnnamedEnvironment::default(),
        }
    }
}
