//! Environments that were removed on purpose, until the removal is announced to followers.
//!
//! Followers remove only environments whose removal is announced: a missing link may be a mistake. So a server, or
//! a command while no server runs, writes a note before it removes an environment, and the note is deleted after
//! the announcement. Invariant: an environment with a note and no link was removed on purpose, even if a process
//! was killed meanwhile.

use std::fs;
use std::io;
use std::path::PathBuf;

use environments::EnvironmentName;

use super::{Versions, names, sync_directory};
use crate::content::{ContentError, failed, make_directory};

// === impl Versions ===

impl Versions {
    /// Stores durably that an environment is about to be removed.
    pub fn note_taken_away(&self, environment: &EnvironmentName) -> Result<(), ContentError> {
        let directory = self.notes_of_taken_away();
        let is_new = !directory.is_dir();
        make_directory(&directory)?;
        let note = directory.join(environment.as_str());
        fs::write(&note, "").map_err(failed("write to", &note))?;
        sync_directory(&directory)?;
        match is_new {
            true => sync_directory(self.content.root()),
            false => Ok(()),
        }
    }

    /// The environments that have such a note.
    pub fn noted_taken_away(&self) -> Result<Vec<EnvironmentName>, ContentError> {
        let names = names(&self.notes_of_taken_away())?.into_iter();
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Deletes the note, since the removal was announced or need not be.
    pub fn forget_taken_away(&self, environment: &EnvironmentName) -> Result<(), ContentError> {
        let note = self.notes_of_taken_away().join(environment.as_str());
        match fs::remove_file(&note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &note)(error))
            }
            _ => Ok(()),
        }
    }

    fn notes_of_taken_away(&self) -> PathBuf {
        self.content.root().join("taken-away")
    }
}
