//! The settings of deployments, which may change while a server runs: [`CurrentDeployer`].
//!
//! Invariants: a deployment uses one state of the settings from its beginning to its end; invalid
//! settings change nothing, and deployments from sources are refused until the settings are valid.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::deployer::Deployer;
use code_settings::R10kFileError;
use code_settings::defaults::{R10K_ATTEMPTS, R10K_SETTLES};
use code_store::content::ContentHash;

/// The deployer for the current settings.
#[derive(Debug)]
pub(super) struct CurrentDeployer {
    settings: Mutex<SettingsState>,
}

#[derive(Debug)]
struct SettingsState {
    /// The deployer for the last valid settings.
    deployer: Deployer,
    /// Identifies the state of the settings that was read last.
    settings_hash: Option<ContentHash>,
    /// The error in that state, if it is not valid.
    fault: Option<Arc<R10kFileError>>,
}

// === impl CurrentDeployer ===

impl CurrentDeployer {
    pub(super) fn new(deployer: Deployer) -> Self {
        Self {
            settings: Mutex::new(SettingsState {
                deployer,
                settings_hash: None,
                fault: None,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, SettingsState> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The deployer for the last valid settings.
    pub(super) fn last_valid(&self) -> Deployer {
        self.state().deployer.clone()
    }

    /// The deployer for the settings as they are now. Reads a small file.
    pub(super) fn reload(&self) -> Result<Deployer, Arc<R10kFileError>> {
        let deployer = self.last_valid();
        let Some(file) = deployer.settings_file() else {
            return Ok(deployer);
        };
        let text = file.read_text().map_err(Arc::new)?;
        let mut state = self.state();
        if state.settings_hash != Some(text.hash) {
            state.fault = match file.parse(&text) {
                Ok((settings, git)) => {
                    state.deployer = state.deployer.with_settings(settings, git);
                    None
                }
                Err(error) => Some(Arc::new(error)),
            };
            state.settings_hash = Some(text.hash);
        }
        match &state.fault {
            None => Ok(state.deployer.clone()),
            Some(fault) => Err(Arc::clone(fault)),
        }
    }

    /// Like [`reload`](Self::reload), but retries for a short time while the settings are being
    /// written.
    pub(super) async fn reload_settled(&self) -> Result<Deployer, Arc<R10kFileError>> {
        for _ in 1..R10K_ATTEMPTS {
            match self.reload() {
                Err(error) if matches!(*error, R10kFileError::Changing(_)) => {
                    tokio::time::sleep(R10K_SETTLES).await;
                }
                looked => return looked,
            }
        }
        self.reload()
    }
}
