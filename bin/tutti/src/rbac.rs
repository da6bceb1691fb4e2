//! Users, roles and permissions: [`settings`] of the crate `rbac`.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::config::access::{AccessSection, UnnamedEnvironment};

/// Settings of the crate `rbac`.
pub(crate) fn settings(
    config: &Config,
    external_directories: &api::ExternalDirectories,
) -> rbac::AuthSettings {
    let AccessSection {
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
