//! The progress of the lease holder: [`HolderRecord`], the content of `holder.json`.
//!
//! Invariant: it counts only while a process has `holder.lock`, and that process wrote it.

use pxp::action::{HoldLeaseResult, HoldLeaseState};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A lease holder and its progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HolderRecord {
    /// Process id of the lease holder.
    pub(crate) pid: u32,
    /// The lease that the progress is of.
    pub(crate) lease: Uuid,
    pub(crate) progress: HolderProgress,
}

/// The progress with one lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HolderProgress {
    /// A run that does not name the lease has to end first.
    Waiting {
        /// Process id of that run, if it is known.
        run_pid: Option<u32>,
    },
    Held,
    /// Puppet's lock cannot be taken, for this reason.
    Refused {
        message: String,
    },
}

// === impl HolderProgress ===

impl HolderProgress {
    pub(super) fn into_result(self) -> HoldLeaseResult {
        let mut result = HoldLeaseResult {
            state: HoldLeaseState::Held,
            run_pid: None,
            message: None,
        };
        match self {
            Self::Held => {}
            Self::Waiting { run_pid } => {
                result.state = HoldLeaseState::Waiting;
                result.run_pid = run_pid;
            }
            Self::Refused { message } => {
                result.state = HoldLeaseState::Refused;
                result.message = Some(message);
            }
        }
        result
    }
}
