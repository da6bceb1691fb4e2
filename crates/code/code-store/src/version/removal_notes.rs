//! Environments that were removed on purpose, until the removal is announced to followers.
//!
//! Followers remove only environments whose removal is announced: a missing link may be a mistake.
//! So a server, or a command while no server runs, writes a note before it removes an environment,
//! and the note is deleted after the announcement. Invariant: an environment with a note and no
//! link was removed on purpose, even if a process was killed meanwhile.

use std::fs;
use std::io;
use std::path::PathBuf;

use environments::EnvironmentName;

use super::{VersionStore, list_names, sync_directory};
use crate::content::{ContentError, content_error, create_directory};

// === impl VersionStore ===

impl VersionStore {
    /// Stores durably that an environment is about to be removed.
    pub fn note_removal(&self, environment: &EnvironmentName) -> Result<(), ContentError> {
        let directory = self.removal_notes_directory();
        let is_new = !directory.is_dir();
        create_directory(&directory)?;
        let note = directory.join(environment.as_str());
        fs::write(&note, "").map_err(content_error("write to", &note))?;
        sync_directory(&directory)?;
        match is_new {
            true => sync_directory(self.content.root()),
            false => Ok(()),
        }
    }

    /// Returns the environments that have such a note.
    pub fn noted_removals(&self) -> Result<Vec<EnvironmentName>, ContentError> {
        let names = list_names(&self.removal_notes_directory())?.into_iter();
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Deletes the note, since the removal was announced or need not be.
    pub fn delete_removal_note(&self, environment: &EnvironmentName) -> Result<(), ContentError> {
        let note = self.removal_notes_directory().join(environment.as_str());
        match fs::remove_file(&note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(content_error("remove", &note)(error))
            }
            _ => Ok(()),
        }
    }

    fn removal_notes_directory(&self) -> PathBuf {
        self.content.root().join("taken-away")
    }
}
