//! Leases of this node: while a job holds one, only the runs of Puppet that name it start. Main type: [`NodeLeases`].
//!
//! A *lease holder*, a process of its own (`modules/puppet/lease_holder`), keeps Puppet's lock of a run in progress for the
//! lease, so runs that timers, administrators and Puppet's daemon start give way as they do for any other run. The runs of
//! the job use another lock. The files are in the directory `.lease` of the spool:
//!
//! | file | written by | content |
//! |---|---|---|
//! | `lease.json` | agent | [`StoredLease`]: the wanted lease, and the one without an end that it replaced; on disk before it is acknowledged |
//! | `released.json` | agent, `tutti-agent lease` | [`ReleasedLeases`]: the newest leases that were released |
//! | `holder.json` | lease holder | [`HolderRecord`]: its progress |
//! | `state.lock` | | locked for each change of these files and for the begin and end of a lease holder |
//! | `holder.lock` | | locked by the lease holder as long as it exists |
//! | `runs.lock` | | locked, shared, by each run that has the lease |
//! | `run.lock` | `puppet agent` | the lock of runs that have the lease |
//!
//! Invariants: under `state.lock`, a lease that is not over has a lease holder or the caller starts one; a lease holder ends
//! only when the lease is over and no run that has the lease is left.

mod holder_record;
mod listing;
mod release;
mod released;
mod state_files;
mod stored_lease;

use std::io;
use std::path::{Path, PathBuf};

use pki::durable;
use pxp::action::{
    HoldLeaseParams, HoldLeaseResult, HoldLeaseState, ReleaseLeaseParams, ShownLease,
};
use thiserror::Error;
use uuid::Uuid;

use self::release::{LeaseRelease, ReleaseOutcome};
use self::released::{LeaseReleaser, ReleasedLeases};
use self::state_files::{MODE, read_json};
use crate::spool::ClockReading;

pub(crate) use self::holder_record::{HolderProgress, HolderRecord};
pub use self::listing::LeaseListing;
pub(crate) use self::state_files::LeaseFileLock;
pub(crate) use self::stored_lease::{LeaseTerm, StoredLease};

/// The directory below the spool. Names that begin with a dot are never transaction ids.
const DIRECTORY: &str = ".lease";
const DIRECTORY_MODE: u32 = 0o700;
const LEASE_FILE: &str = "lease.json";
const RELEASED_FILE: &str = "released.json";
const HOLDER_FILE: &str = "holder.json";
const HOLDER_TEMPORARY: &str = "holder.json.tmp";
const STATE_LOCK: &str = "state.lock";
const HOLDER_LOCK: &str = "holder.lock";
const RUNS_LOCK: &str = "runs.lock";
const PUPPET_LOCK: &str = "run.lock";

/// The leases of this node.
#[derive(Debug, Clone)]
pub struct NodeLeases {
    directory: PathBuf,
}

/// Failure to read or change the leases of this node.
#[derive(Debug, Error)]
pub enum LeaseError {
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is damaged: {cause}; remove it to end the lease")]
    Damaged { path: PathBuf, cause: String },
    #[error(
        "{path} has been locked by another process for {seconds} seconds; end that process (`fuser` names it)"
    )]
    Locked { path: PathBuf, seconds: u64 },
    #[error("cannot write the lease")]
    Write(#[from] durable::DurableWriteError),
    #[error("cannot read the clock of this machine")]
    Clock(#[source] io::Error),
}

/// The answer to a request to hold a lease.
#[derive(Debug)]
pub(crate) struct LeaseAnswer {
    pub(crate) result: HoldLeaseResult,
    /// True if no lease holder exists and the caller has to start one.
    pub(crate) needs_holder: bool,
}

/// The right to be the only lease holder of this node.
#[derive(Debug)]
pub(crate) struct HolderClaim {
    _lock: LeaseFileLock,
    /// The record that an earlier lease holder left, if its process was killed.
    pub(crate) earlier: Option<HolderRecord>,
}

// === impl NodeLeases ===

impl NodeLeases {
    /// The leases whose files are below this spool directory.
    #[must_use]
    pub fn below(spool: &Path) -> Self {
        Self {
            directory: spool.join(DIRECTORY),
        }
    }

    /// The lease that is not over, with its progress; `None` if there is none.
    pub fn show(&self) -> Result<Option<LeaseListing>, LeaseError> {
        let exists = self.directory.try_exists();
        if !exists.map_err(|source| LeaseError::read(&self.directory, source))? {
            return Ok(None);
        }
        let _state = self.lock_state()?;
        self.list()
    }

    /// Ends the lease for an administrator of the node, with the one that it replaced, and returns it; `None` if there is
    /// none. The orchestrator cannot hold the leases again.
    pub fn release_as_administrator(&self) -> Result<Option<LeaseListing>, LeaseError> {
        let exists = self.directory.try_exists();
        if !exists.map_err(|source| LeaseError::read(&self.directory, source))? {
            return Ok(None);
        }
        let _state = self.lock_state()?;
        let Some(listing) = self.list()? else {
            return Ok(None);
        };
        let release = LeaseRelease {
            lease: listing.lease,
            restore: false,
            by: LeaseReleaser::Administrator,
        };
        Ok(self.remove(&release)?.then_some(listing))
    }

    /// The lease that is not over. The caller has `state.lock`.
    fn list(&self) -> Result<Option<LeaseListing>, LeaseError> {
        let now = read_clock()?;
        let stored = self.read_stored()?;
        match stored.and_then(|lease| lease.into_current(&now)) {
            Some(lease) => Ok(Some(LeaseListing::of(&lease, self.read_holder()?, &now))),
            None => Ok(None),
        }
    }

    /// The lease that is not over, as an orchestrator sees it.
    pub(crate) fn show_to_orchestrator(&self) -> Result<Option<ShownLease>, LeaseError> {
        Ok(self.show()?.map(LeaseListing::into_shown))
    }

    /// Holds or renews a lease, unless it was released or another one is held.
    pub(crate) fn hold(
        &self,
        params: &HoldLeaseParams,
        requester: &str,
    ) -> Result<LeaseAnswer, LeaseError> {
        durable::create_dir(&self.directory, DIRECTORY_MODE)?;
        let _state = self.lock_state()?;
        let now = read_clock()?;
        let stored = self.read_stored_or_warn();
        let current = stored.and_then(|lease| lease.into_current(&now));
        let released = self.read_released();
        if let Some(why) = released.explain(params.lease) {
            return Ok(LeaseAnswer::unheld(HoldLeaseState::Refused, why.to_owned()));
        }
        if let Some(why) = find_other_lease(params.lease, current.as_ref(), &now) {
            return Ok(LeaseAnswer::unheld(HoldLeaseState::Waiting, why));
        }
        let lease = StoredLease::requested(params, requester, &now, current.as_ref());
        if current.as_ref() != Some(&lease) {
            write_json(&self.directory.join(LEASE_FILE), &lease)?;
        }
        let holder = self.read_holder()?;
        let needs_holder = holder.is_none() && !self.has_holder()?;
        let progress = holder.filter(|holder| holder.lease == lease.lease);
        let progress = progress.map_or(HolderProgress::Waiting { run_pid: None }, |it| it.progress);
        Ok(LeaseAnswer {
            result: progress.into_result(),
            needs_holder,
        })
    }

    /// Ends a lease, or that which the node has if the request names none; false if the node does not have it. It cannot be
    /// held again in either case.
    pub(crate) fn release(&self, params: &ReleaseLeaseParams) -> Result<bool, LeaseError> {
        durable::create_dir(&self.directory, DIRECTORY_MODE)?;
        let _state = self.lock_state()?;
        let now = read_clock()?;
        let stored = self.read_stored_or_warn();
        let current = stored.and_then(|lease| lease.into_current(&now));
        let Some(lease) = params.lease.or(current.map(|current| current.lease)) else {
            return Ok(false);
        };
        self.remove(&LeaseRelease {
            lease,
            restore: params.restore,
            by: LeaseReleaser::Orchestrator,
        })
    }

    /// Looks at the lease that an earlier agent left. Returns true if it is not over and the caller has to start a lease
    /// holder.
    pub(crate) fn resume(&self) -> Result<bool, LeaseError> {
        if !self.directory.exists() {
            return Ok(false);
        }
        let _state = self.lock_state()?;
        if self.has_holder()? {
            return Ok(false);
        }
        self.remove_leftovers();
        let now = read_clock()?;
        let Some(stored) = self.read_stored_or_warn() else {
            return Ok(false);
        };
        if stored.into_current(&now).is_some() {
            return Ok(true);
        }
        durable::remove(&self.directory.join(LEASE_FILE))?;
        Ok(false)
    }

    /// Adds the lease to those that were released, before it can be seen to be gone, and with it the one that it replaced
    /// unless that is to be restored. The caller has `state.lock`.
    fn remove(&self, release: &LeaseRelease) -> Result<bool, LeaseError> {
        let stored = self.read_stored_or_warn();
        let outcome = stored.map_or(ReleaseOutcome::Unknown, |stored| release.apply(stored));
        let mut released = self.read_released();
        if let ReleaseOutcome::Ended {
            replaced: Some(lease),
        } = outcome
        {
            released.add(lease, release.by);
        }
        released.add(release.lease, release.by);
        write_json(&self.directory.join(RELEASED_FILE), &released)?;
        let path = self.directory.join(LEASE_FILE);
        match outcome {
            ReleaseOutcome::Unknown => Ok(false),
            ReleaseOutcome::Ended { .. } => Ok(durable::remove(&path)?),
            ReleaseOutcome::Left(lease) => {
                write_json(&path, &*lease)?;
                Ok(true)
            }
        }
    }

    fn read_stored(&self) -> Result<Option<StoredLease>, LeaseError> {
        read_json(&self.directory.join(LEASE_FILE))
    }

    /// A damaged file counts as none: a lease that cannot be read must not keep a node from its runs.
    fn read_stored_or_warn(&self) -> Option<StoredLease> {
        self.read_stored().unwrap_or_else(|error| {
            tracing::warn!(%error, "the lease of this node is lost");
            None
        })
    }

    fn read_released(&self) -> ReleasedLeases {
        let read = read_json(&self.directory.join(RELEASED_FILE));
        let read = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "the list of released leases is lost");
            None
        });
        read.unwrap_or_default()
    }

    fn lock_state(&self) -> Result<LeaseFileLock, LeaseError> {
        LeaseFileLock::acquire(&self.directory.join(STATE_LOCK))
    }

    /// True if a lease holder exists. The caller has `state.lock`, so that no lease holder begins meanwhile and finds
    /// its lock taken by this look.
    fn has_holder(&self) -> Result<bool, LeaseError> {
        let lock = LeaseFileLock::try_exclusive(&self.directory.join(HOLDER_LOCK))?;
        Ok(lock.is_none())
    }

    /// The record of the lease holder; `None` if there is no lease holder. The caller has `state.lock`.
    fn read_holder(&self) -> Result<Option<HolderRecord>, LeaseError> {
        Ok(self.has_holder()?.then(|| self.read_record()).flatten())
    }

    /// Removes temporary files of a process that was killed while it wrote. The caller has `state.lock`, and there is no
    /// lease holder.
    fn remove_leftovers(&self) {
        for file in std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = file.file_name();
            if name
                .to_string_lossy()
                .starts_with(durable::TEMPORARY_PREFIX)
            {
                // Another start tries again.
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}

/// The side of the lease holder and of runs.
impl NodeLeases {
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Puppet's lock for runs that have the lease.
    pub(crate) fn puppet_lock(&self) -> PathBuf {
        self.directory.join(PUPPET_LOCK)
    }

    /// The wanted lease, if it is not over.
    pub(crate) fn read_wanted(&self, now: &ClockReading) -> Option<StoredLease> {
        let stored = self.read_stored().ok().flatten();
        stored.and_then(|lease| lease.into_current(now))
    }

    /// The wanted lease and its progress, if the process `pid` is its lease holder.
    pub(crate) fn find_held_by(
        &self,
        pid: u32,
        now: &ClockReading,
    ) -> Option<(StoredLease, HolderProgress)> {
        let record = self.read_record().filter(|record| record.pid == pid)?;
        let lease = self.read_wanted(now)?;
        (lease.lease == record.lease).then_some((lease, record.progress))
    }

    /// Keeps the lease holder from giving Puppet's lock back while a run has the lease; `None` while the lease holder
    /// looks for such runs.
    pub(crate) fn lock_run(&self) -> Result<Option<LeaseFileLock>, LeaseError> {
        LeaseFileLock::try_shared(&self.directory.join(RUNS_LOCK))
    }

    /// The lock that excludes runs with the lease, if there is none.
    pub(crate) fn try_lock_runs(&self) -> Result<Option<LeaseFileLock>, LeaseError> {
        LeaseFileLock::try_exclusive(&self.directory.join(RUNS_LOCK))
    }

    /// Waits until no run has the lease.
    pub(crate) fn wait_for_runs(&self) -> Result<Option<LeaseFileLock>, LeaseError> {
        LeaseFileLock::wait_exclusive(&self.directory.join(RUNS_LOCK))
    }

    /// Makes the calling process the lease holder; `None` if another one exists.
    pub(crate) fn begin_holding(&self) -> Result<Option<HolderClaim>, LeaseError> {
        let _state = self.lock_state()?;
        let lock = LeaseFileLock::try_exclusive(&self.directory.join(HOLDER_LOCK))?;
        let Some(lock) = lock else {
            return Ok(None);
        };
        let earlier = self.read_record();
        // It counts from now on, and is that of another process.
        let _ = std::fs::remove_file(self.directory.join(HOLDER_FILE));
        Ok(Some(HolderClaim {
            _lock: lock,
            earlier,
        }))
    }

    /// Records the progress. It is lost with a restart of the machine, like the lease holder.
    pub(crate) fn record(&self, record: &HolderRecord) -> io::Result<()> {
        let bytes = serde_json::to_vec(record).expect("texts and numbers");
        let temporary = self.directory.join(HOLDER_TEMPORARY);
        std::fs::write(&temporary, bytes)?;
        std::fs::rename(&temporary, self.directory.join(HOLDER_FILE))
    }

    /// Ends the lease holder and gives Puppet's lock back with `give_back`, unless there is a lease again. Returns the
    /// claim of a lease holder that has to go on.
    pub(crate) fn end_holding(
        &self,
        claim: HolderClaim,
        give_back: impl FnOnce(),
    ) -> Option<HolderClaim> {
        if !self.directory.exists() {
            give_back();
            return None;
        }
        let (Ok(_state), Ok(now)) = (self.lock_state(), read_clock()) else {
            return Some(claim);
        };
        if let Some(stored) = self.read_stored().ok().flatten() {
            if stored.into_current(&now).is_some() {
                return Some(claim);
            }
            // If it stays, it is over nevertheless.
            let _ = durable::remove(&self.directory.join(LEASE_FILE));
        }
        give_back();
        let _ = std::fs::remove_file(self.directory.join(HOLDER_FILE));
        drop(claim);
        None
    }

    /// The newest record, perhaps of a lease holder that is gone.
    pub(crate) fn read_record(&self) -> Option<HolderRecord> {
        read_json(&self.directory.join(HOLDER_FILE)).ok().flatten()
    }
}

/// The lease of another job that has to end first, in words. A lease without an end gives way to any other one: it keeps a
/// node as a failed job left it, and a new job is the repair.
fn find_other_lease(
    lease: Uuid,
    current: Option<&StoredLease>,
    now: &ClockReading,
) -> Option<String> {
    let other = current.filter(|current| current.lease != lease)?;
    match other.term(now) {
        LeaseTerm::Ends(_) => Some(format!(
            "{} is held {}",
            other.name(),
            other.describe_end(now)
        )),
        LeaseTerm::Over | LeaseTerm::UntilReleased => None,
    }
}

fn write_json(path: &Path, content: &impl serde::Serialize) -> Result<(), LeaseError> {
    let bytes = serde_json::to_vec(content).expect("texts and numbers");
    Ok(durable::write_atomic(path, &bytes, MODE)?)
}

fn read_clock() -> Result<ClockReading, LeaseError> {
    ClockReading::read().map_err(LeaseError::Clock)
}

// === impl LeaseAnswer ===

impl LeaseAnswer {
    fn unheld(state: HoldLeaseState, message: String) -> Self {
        Self {
            result: HoldLeaseResult {
                state,
                run_pid: None,
                message: Some(message),
            },
            needs_holder: false,
        }
    }
}

// === impl LeaseError ===

impl LeaseError {
    fn read(path: &Path, source: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    fn damaged(path: &Path, cause: &str) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            cause: cause.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
