//! The section `[access]` of the configuration: protection of logins, and programs that need none.
//! Main type: [`RbacSection`].

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::config::Config;

/// Protection of logins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RbacSection {
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

impl Default for RbacSection {
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

/// Settings of the crate `rbac`.
pub(crate) fn settings(
    config: &Config,
    external_directories: &api::ExternalDirectories,
) -> rbac::AuthSettings {
    let RbacSection {
        failed_logins_lock,
        failed_logins_lock_s,
        token_inactivity_s,
        token_max_lifetime_s,
        unnamed_environment,
        ..
    } = config.access;
    let most = Duration::from_secs(token_max_lifetime_s).min(rbac::defaults::MAX_LIFETIME);
    rbac::AuthSettings {
        failed_logins_lock: (failed_logins_lock > 0).then_some(failed_logins_lock),
        user_lock: Duration::from_secs(failed_logins_lock_s),
        token_inactivity: (token_inactivity_s > 0).then(|| Duration::from_secs(token_inactivity_s)),
        token_max_lifetime: (!most.is_zero()).then_some(most),
        unnamed_environment: match unnamed_environment {
            UnnamedEnvironment::Own => rbac::UnnamedEnvironmentScope::EachNode,
            UnnamedEnvironment::Any => rbac::UnnamedEnvironmentScope::Any,
        },
        directory: Some(Arc::new(external_directories.directories.clone())),
        ..rbac::AuthSettings::default()
    }
}
