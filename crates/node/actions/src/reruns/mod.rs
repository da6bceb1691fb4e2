//! Reruns of Puppet that the shipped module `common` has requested on this node. Main type: [`Reruns`].
//!
//! The module writes the requests (`modules/common/lib/puppet_x/common/again/store.rb`); `docs/convergence.md` describes
//! the files. Invariant: the state is changed only under the module's own lock, and replaced as a whole.

mod listing;
mod lock;
mod state;

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::listing::{RerunEpisode, RerunListing, RerunRequest};
use self::lock::{RerunLock, STATE_LOCK};
use self::state::StateFile;
use crate::modules;

/// The directory in which the module keeps its requests, below Puppet's state directory.
const DIRECTORY: &str = "again";

/// Requested reruns of this node.
#[derive(Debug)]
pub struct Reruns {
    directory: PathBuf,
}

/// A request that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanceledRerun {
    /// The run of Puppet that the rerun would have repeated, such as `agent production`.
    pub run: String,
    pub key: String,
}

/// Failure to read or change the requests.
#[derive(Debug, Error)]
pub enum RerunError {
    #[error("Puppet's state directory is not known: {0}; name it with --statedir")]
    StateDirectory(String),
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is damaged: {cause}; the next request of a run replaces it, or remove it")]
    Damaged { path: PathBuf, cause: String },
    #[error(
        "{path} has been locked by another process for {seconds} seconds; end that process (`fuser` names it)"
    )]
    Locked { path: PathBuf, seconds: u64 },
    #[error("no request has the key {key:?}; `tutti-agent again list` shows the requests")]
    UnknownKey { key: String },
    #[error("{path} belongs to the user {owner}; run `tutti-agent again cancel` as that user")]
    Foreign { path: PathBuf, owner: u32 },
    #[error("cannot write the requests")]
    Write(#[from] pki::durable::DurableWriteError),
}

// === impl Reruns ===

impl Reruns {
    /// The requests below a state directory of Puppet.
    #[must_use]
    pub fn below(state_directory: &Path) -> Self {
        Self {
            directory: state_directory.join(DIRECTORY),
        }
    }

    /// The requests of the installed Puppet, which is asked for its state directory. `modules_config_dir` has the file
    /// `pxp-module-puppet.conf`, which may name the program.
    pub fn of_installed_puppet(modules_config_dir: Option<&Path>) -> Result<Self, RerunError> {
        let directory =
            modules::query_state_dir(modules_config_dir).map_err(RerunError::StateDirectory)?;
        Ok(Self::below(&directory))
    }

    /// The directory of the requests, which exists after the first one.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All requests, and the episodes of reruns that the module remembers.
    pub fn list(&self) -> Result<RerunListing, RerunError> {
        let state = StateFile::read(&self.directory)?;
        let waiter = lock::find_waiter(&self.directory)?;
        Ok(RerunListing::of(state.as_ref(), waiter))
    }

    /// Removes the requests with these keys, or all if there are none, and wakes the process that waits for them. Nothing
    /// is removed if a key is unknown. A run in progress goes on.
    pub fn cancel(&self, keys: &[String]) -> Result<Vec<CanceledRerun>, RerunError> {
        if !self.directory.exists() {
            return match keys.first() {
                Some(key) => Err(RerunError::UnknownKey { key: key.clone() }),
                None => Ok(Vec::new()),
            };
        }
        self.check_owner()?;
        let held = RerunLock::acquire(&self.directory, STATE_LOCK)?;
        let mut state = StateFile::read(&self.directory)?.unwrap_or_default();
        let canceled = state.remove(keys)?;
        if !canceled.is_empty() {
            state.write(&self.directory)?;
        }
        drop(held);
        lock::wake_waiter(&self.directory)?;
        Ok(canceled)
    }

    /// Another user could replace the files while this one writes to them.
    fn check_owner(&self) -> Result<(), RerunError> {
        let read = |source| RerunError::Read {
            path: self.directory.clone(),
            source,
        };
        let owner = std::fs::symlink_metadata(&self.directory)
            .map_err(read)?
            .uid();
        if owner == rustix::process::geteuid().as_raw() {
            return Ok(());
        }
        Err(RerunError::Foreign {
            path: self.directory.clone(),
            owner,
        })
    }
}
