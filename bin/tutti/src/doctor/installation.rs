//! The installation that is diagnosed: [`DiagnosedInstallation`].

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use doctor::accounts::{LocalAccounts, ServiceAccount};
use doctor::clock::RemoteClock;
use doctor::unit::UnitSighting;

use super::role::ServiceRole;
use crate::config::Config;

/// User that the shipped units run services as.
const SHIPPED_USER: &str = "tutti";

/// Facts shared by several checks.
pub(super) struct DiagnosedInstallation {
    pub(super) config: Config,
    /// Path of the configuration.
    pub(super) config_file: PathBuf,
    pub(super) role: ServiceRole,
    pub(super) accounts: LocalAccounts,
    pub(super) unit: UnitSighting,
    pub(super) connection: cli::ConnectionFlags,
    /// Clocks of the machines that answered.
    pub(super) clocks: Mutex<Vec<RemoteClock>>,
}

// === impl DiagnosedInstallation ===

impl DiagnosedInstallation {
    /// Account that the service runs as: that of its unit, or else the owner of its data, or else
    /// that of the shipped unit.
    pub(super) fn account(&self) -> ServiceAccount {
        let accounts = &self.accounts;
        if let UnitSighting::Known(unit) = &self.unit
            && unit.is_installed()
            && self.is_configured_in_unit()
        {
            let root = || Some(accounts.account_of(0));
            let named = unit.user().map_or_else(root, |name| accounts.account(name));
            if let Some(account) = named {
                return account;
            }
        }
        if let Some(owner) = owner(&self.config.data_dir) {
            return accounts.account_of(owner);
        }
        let own = || accounts.account_of(rustix::process::geteuid().as_raw());
        accounts.account(SHIPPED_USER).unwrap_or_else(own)
    }

    /// True if the installed unit starts the service with this configuration.
    pub(super) fn is_configured_in_unit(&self) -> bool {
        let UnitSighting::Known(unit) = &self.unit else {
            return false;
        };
        let default = self.role.default_config();
        let named = unit.option("--config").unwrap_or(default);
        self.config_file.as_os_str() == named
    }

    /// Records the clock of a machine that answered.
    pub(super) fn note_clock(&self, clock: RemoteClock) {
        let mut clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.push(clock);
    }
}

/// Owner of a directory, if it exists.
fn owner(directory: &Path) -> Option<u32> {
    std::fs::metadata(directory).ok().map(|it| it.uid())
}
