//! The section `[access]` of the configuration: how logins are guarded, and which programs need
//! none. Main type: [`RbacSettings`].

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::config::Config;

/// How logins are guarded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RbacSettings {
    /// Certnames of programs that may do everything without a token, as `api_user`.
    pub certificate_allowlist: Vec<String>,
    /// Wrong passwords in a row that lock a user until somebody reinstates him; 0 = never.
    pub failed_logins_lock: u32,
    /// Seconds for which such a lock lasts.
    pub failed_logins_lock_s: u64,
    /// Seconds without use after which a token ends; 0 = never.
    pub token_inactivity_s: u64,
    /// Seconds that a token lives at most; 0 = ten years.
    pub token_max_lifetime_s: u64,
    /// Environments that a permission `tasks:run` or `plans:run` without an environment is for.
    pub unnamed_environment: UnnamedEnvironment,
}

/// An environment that a permission does not name.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UnnamedEnvironment {
    /// The one that each node is in.
    #[default]
    Own,
    /// Any one, on every node.
    Any,
}

impl Default for RbacSettings {
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

/// What `access` is told.
pub(crate) fn settings(
    config: &Config,
    external_directories: &api::ExternalDirectories,
) -> rbac::Settings {
    let RbacSettings {
        failed_logins_lock,
        failed_logins_lock_s,
        token_inactivity_s,
        token_max_lifetime_s,
        unnamed_environment,
        ..
    } = config.access;
    let most = Duration::from_secs(token_max_lifetime_s).min(rbac::defaults::MAX_LIFETIME);
    rbac::Settings {
        failed_logins_lock: (failed_logins_lock > 0).then_some(failed_logins_lock),
        user_lock: Duration::from_secs(failed_logins_lock_s),
        token_inactivity: (token_inactivity_s > 0).then(|| Duration::from_secs(token_inactivity_s)),
        token_max_lifetime: (!most.is_zero()).then_some(most),
        unnamed_environment: match unnamed_environment {
            UnnamedEnvironment::Own => rbac::UnnamedEnvironment::Own,
            UnnamedEnvironment::Any => rbac::UnnamedEnvironment::Any,
        },
        directory: Some(Arc::new(external_directories.directories.clone())),
        ..rbac::Settings::default()
    }
}
