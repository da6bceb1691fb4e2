//! The right to start an action: a [`ActionClaim`] on its spool entry, taken once.
//!
//! The wrapper takes it right before it starts the action; an agent that finds an entry without a
//! claim after a restart takes it to make sure that the action is not started any more. Invariant:
//! exactly one of both succeeds, so a running action is never reported as not run.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::EntryDurability;
use crate::process::ProcessIdentity;

const CLAIM_FILE: &str = "claim.json";

/// The decision about the start of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ActionClaim {
    /// This process starts and records the action.
    Started(ProcessIdentity),
    /// The action is never to be started.
    Abandoned,
}

/// Reason for which a claim could not be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActionClaimError {
    #[error("the action was claimed before")]
    Taken,
    #[error("cannot claim the action: {0}")]
    Io(#[from] io::Error),
}

impl ActionClaim {
    /// Takes the claim. Its content is flushed before its name appears, so no reader finds it
    /// empty. Its name is not flushed: the claim decides between processes of one boot, and after
    /// another boot an entry without a claim counts as unknown.
    pub(crate) fn take(
        &self,
        entry: &Path,
        durability: EntryDurability,
    ) -> Result<(), ActionClaimError> {
        let mut file = tempfile::Builder::new()
            .prefix(".claim-")
            .permissions(Permissions::from_mode(0o640))
            .tempfile_in(entry)?;
        // Written at once: a file has no buffer, and every action waits for this.
        let bytes = serde_json::to_vec(self).map_err(io::Error::from)?;
        file.write_all(&bytes)?;
        if durability.is_kept() {
            file.as_file().sync_data()?;
        }
        match file.persist_noclobber(entry.join(CLAIM_FILE)) {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ActionClaimError::Taken);
            }
            Err(error) => return Err(error.error.into()),
        }
        Ok(())
    }

    pub(crate) fn read(entry: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(entry.join(CLAIM_FILE)) {
            Ok(bytes) => Ok(Some(decode_errors::json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_claim_counts() {
        let entry = tempfile::tempdir().unwrap();
        assert_eq!(ActionClaim::read(entry.path()).unwrap(), None);
        ActionClaim::Abandoned
            .take(entry.path(), EntryDurability::Kept)
            .unwrap();
        let wrapper = ActionClaim::Started(ProcessIdentity::current().unwrap());
        assert!(matches!(
            wrapper.take(entry.path(), EntryDurability::Scratch),
            Err(ActionClaimError::Taken)
        ));
        assert_eq!(
            ActionClaim::read(entry.path()).unwrap(),
            Some(ActionClaim::Abandoned)
        );
    }
}
