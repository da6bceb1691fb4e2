//! The decision if a run may start now: [`RunTurn`].
//!
//! Invariant: a run with Puppet's lock for leases starts only while the lease holder of its lease has Puppet's usual lock,
//! and keeps the lease holder from giving that one back.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::lock;
use crate::leases::{HolderProgress, LeaseFileLock, NodeLeases, StoredLease};
use crate::spool::ClockReading;

/// The locks that a run considers.
pub(super) struct RunLocks<'r> {
    /// Puppet's setting `agent_catalog_run_lockfile`.
    pub(super) standard: &'r Path,
    pub(super) leases: &'r NodeLeases,
    /// The lease that the run names.
    pub(super) lease: Option<Uuid>,
}

/// The permission to start a run, or the reason to wait.
#[derive(Debug)]
pub(super) enum RunTurn {
    /// It may start, with its lease if it has one that is held.
    Free(Option<LeasedRun>),
    Busy(RunObstacle),
}

/// A run that has the lease, until the value is dropped.
#[derive(Debug)]
pub(super) struct LeasedRun {
    /// Puppet's lock for this run.
    pub(super) lock_file: PathBuf,
    _lock: LeaseFileLock,
}

/// The reason for which a run cannot start yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunObstacle {
    /// Another run, of this process.
    Run(u32),
    /// The lease of another job.
    Lease(HeldLease),
}

/// A lease that keeps a run from starting.
#[derive(Debug, Clone)]
pub(super) struct HeldLease {
    lease: Uuid,
    /// Process id of the lease holder.
    pub(super) holder: u32,
    /// The lease in words, such as `the lease of job 12 (reason)`.
    pub(super) name: String,
    /// The end in words, such as `until it is released`.
    pub(super) end: String,
    /// It lasts until it is released or replaced.
    pub(super) is_lasting: bool,
}

// === impl RunLocks ===

impl RunLocks<'_> {
    /// Looks at the locks.
    pub(super) fn look(&self) -> RunTurn {
        let Some(pid) = lock::read_lock_holder(self.standard) else {
            return RunTurn::Free(None);
        };
        let busy = RunTurn::Busy(RunObstacle::Run(pid));
        let Ok(now) = ClockReading::read() else {
            return busy;
        };
        match self.leases.find_held_by(pid, &now) {
            None => busy,
            Some((lease, progress)) if self.lease == Some(lease.lease) => {
                self.look_with_lease(pid, &progress, &now)
            }
            Some((lease, _)) => {
                RunTurn::Busy(RunObstacle::Lease(HeldLease::new(pid, &lease, &now)))
            }
        }
    }

    /// `pid` has Puppet's usual lock for the lease of this run.
    fn look_with_lease(&self, pid: u32, progress: &HolderProgress, now: &ClockReading) -> RunTurn {
        match progress {
            HolderProgress::Held => {}
            // A run of an earlier lease is left.
            HolderProgress::Waiting { run_pid } => {
                return RunTurn::Busy(RunObstacle::Run(run_pid.unwrap_or(pid)));
            }
            HolderProgress::Refused { .. } => return RunTurn::Busy(RunObstacle::Run(pid)),
        }
        // The lease holder looks for runs at this moment, or the file cannot be used.
        let Ok(Some(lock)) = self.leases.lock_run() else {
            return RunTurn::Busy(RunObstacle::Run(pid));
        };
        // From here on the lease holder cannot give its lock back; it may just have done so.
        let held = self.leases.find_held_by(pid, now);
        let is_held = held.is_some_and(|(lease, _)| self.lease == Some(lease.lease))
            && lock::read_lock_holder(self.standard) == Some(pid);
        if !is_held {
            return self.without(lock);
        }
        let lock_file = self.leases.puppet_lock();
        match lock::read_lock_holder(&lock_file) {
            Some(pid) => RunTurn::Busy(RunObstacle::Run(pid)),
            None => RunTurn::Free(Some(LeasedRun {
                lock_file,
                _lock: lock,
            })),
        }
    }

    /// Looks again, without the lock.
    fn without(&self, lock: LeaseFileLock) -> RunTurn {
        drop(lock);
        match lock::read_lock_holder(self.standard) {
            Some(pid) => RunTurn::Busy(RunObstacle::Run(pid)),
            None => RunTurn::Free(None),
        }
    }
}

// === impl RunObstacle ===

impl RunObstacle {
    /// Process id of the run, or of the lease holder.
    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Run(pid) => *pid,
            Self::Lease(lease) => lease.holder,
        }
    }

    pub(super) fn lease_name(&self) -> Option<&str> {
        match self {
            Self::Run(_) => None,
            Self::Lease(lease) => Some(&lease.name),
        }
    }

    /// True for a lease without an end, for which a run without a lease does not wait.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self, Self::Lease(lease) if lease.is_lasting)
    }

    /// The reason for a wait that begins, for the output of the run.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Run(pid) => format!("another run of Puppet is in progress (process {pid})"),
            Self::Lease(HeldLease { name, end, .. }) => {
                format!("{name} keeps other runs of Puppet from starting {end}")
            }
        }
    }
}

// === impl HeldLease ===

impl HeldLease {
    fn new(holder: u32, lease: &StoredLease, now: &ClockReading) -> Self {
        Self {
            lease: lease.lease,
            holder,
            name: lease.name(),
            end: lease.describe_end(now),
            is_lasting: lease.is_lasting(),
        }
    }
}

impl PartialEq for HeldLease {
    /// A renewed lease is the same.
    fn eq(&self, other: &Self) -> bool {
        (self.lease, self.holder) == (other.lease, other.holder)
    }
}

impl Eq for HeldLease {}
