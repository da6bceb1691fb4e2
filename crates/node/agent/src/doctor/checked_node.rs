//! The node that a diagnosis examines: [`CheckedNode`].

use crate::config::Config;
use doctor::accounts::{LocalAccounts, ServiceAccount};
use doctor::clock::RemoteClock;
use doctor::unit::UnitSighting;
use std::path::PathBuf;
use std::sync::Mutex;

/// Systemd unit of the agent.
pub(super) const UNIT: &str = "tutti-agent.service";

/// Facts shared by several checks.
pub(super) struct CheckedNode {
    pub(super) config: Config,
    pub(super) config_file: PathBuf,
    pub(super) accounts: LocalAccounts,
    pub(super) unit: UnitSighting,
    /// Clocks of the machines that answered.
    pub(super) clocks: Mutex<Vec<RemoteClock>>,
}

impl CheckedNode {
    /// Account that the agent runs as: that of its unit, or else that of this process.
    pub(super) fn account(&self) -> ServiceAccount {
        let root = || Some(self.accounts.account_of(0));
        let of_unit = match &self.unit {
            UnitSighting::Known(unit) if unit.is_installed() => unit
                .user()
                .map_or_else(root, |name| self.accounts.account(name)),
            _ => None,
        };
        let own = || {
            self.accounts
                .account_of(rustix::process::geteuid().as_raw())
        };
        of_unit.unwrap_or_else(own)
    }
}
