//! Environments that were taken away on purpose, as long as followers were not told of it.
//!
//! Followers take away what they are told to, and nothing else: a link that is not there any more may be a
//! mistake. So whoever takes an environment away where followers may be, a server or a command while none
//! runs, notes it before; who announces it forgets the note. The rule that must hold: what has a note and no
//! link was taken away on purpose, whatever was killed meanwhile.

use std::fs;
use std::io;
use std::path::PathBuf;

use environments::EnvironmentName;

use super::{Versions, names, sync_directory};
use crate::content::{ContentError, failed, make_directory};

// === impl Versions ===

impl Versions {
    /// It is on the disk after this that an environment is about to be taken away.
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

    /// Followers were told, or need not be.
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
