//! A job before it has a number.
//!
//! [`Prepared`] is the engine's input, a [`Draft`] is kept while the job is inserted; [`NotRun`] is
//! the reason that it was not run.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use api_types::rollout::RolloutOptions;
use pcp::Certname;
use pki::seal::SealKey;
use store::{JobNumber, NewJob, StoreError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::book::{Flying, Job, Phase, Run};
use super::recover::Dispatch;
use crate::flight::{Flight, Patience};
use crate::keys::JobKey;
use crate::kind::{Action, Kind};
use crate::rollout::Rollout;
use crate::tally::Tally;
use crate::trace::JobTrace;
use crate::verdict::Verdict;

/// A job that has been checked and sealed; it only has to be committed and run.
pub(crate) struct Prepared {
    /// The job's row, without its runs.
    pub(crate) row: NewJob,
    pub(crate) targets: Vec<Target>,
    pub(crate) kind: Kind,
    pub(crate) action: Action,
    pub(crate) timeout: Duration,
    pub(crate) concurrency: Option<usize>,
    pub(crate) rollout: RolloutOptions,
    pub(crate) noop: bool,
    /// The job is a step of a plan of this server, which may read the values that tasks mark as
    /// `_sensitive`.
    pub(crate) keeps_secrets: bool,
    /// As in [`TaskRequest`](crate::TaskRequest).
    pub(crate) after_restart: bool,
    pub(crate) trace: Option<JobTrace>,
}

/// A node of a new job.
pub(crate) struct Target {
    pub(crate) certname: Certname,
    /// Reason that the node is not asked at all.
    pub(crate) refusal: Option<Verdict>,
}

/// A completed insertion.
pub(super) struct Inserted {
    pub(super) key: JobKey,
    pub(super) outcome: Result<JobNumber, StoreError>,
    pub(super) draft: Draft,
    pub(super) reply: oneshot::Sender<Result<JobNumber, NotRun>>,
}

/// Reason that a submitted task was not run.
#[derive(Debug)]
pub(crate) enum NotRun {
    /// Nothing was stored.
    Store(StoreError),
    /// The store was lost at the commit: the job may be stored, and is withdrawn.
    InDoubt {
        source: StoreError,
        /// The job does not start even after a restart.
        never_starts: bool,
    },
}

/// A job that has no number yet.
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) action: Action,
    pub(super) timeout: Duration,
    pub(super) noop: bool,
    /// As in [`Prepared`].
    pub(super) keeps_secrets: bool,
    /// As in [`Job`].
    pub(super) after_restart: bool,
    pub(super) runs: Vec<Run>,
    pub(super) rollout: Rollout,
    /// As in [`Job`].
    pub(super) has_batches: bool,
    /// As in [`Job`].
    pub(super) failed: Vec<Certname>,
    pub(super) tally: Tally,
    pub(super) trace: Option<JobTrace>,
    /// Start of the job's commit.
    pub(super) since: SystemTime,
}

// === impl Prepared ===

impl Prepared {
    /// Seals into the job's row all that a restarted engine needs to run it.
    pub(crate) fn sealed(mut self, seal: &SealKey) -> Self {
        let dispatch = Dispatch {
            action: self.action.clone(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            concurrency: self.concurrency,
            noop: self.noop,
            keeps_secrets: self.keeps_secrets,
            trace: self.trace.clone(),
        };
        self.row.sealed = Some(dispatch.seal(seal));
        self
    }
}

impl From<Certname> for Target {
    fn from(certname: Certname) -> Self {
        let refusal = None;
        Self { certname, refusal }
    }
}

// === impl Draft ===

impl Draft {
    pub(super) fn into_job(self, number: JobNumber, patience: &Patience) -> Job {
        let Self {
            kind,
            action,
            timeout,
            noop,
            keeps_secrets,
            after_restart,
            mut runs,
            rollout,
            has_batches,
            failed,
            tally,
            trace,
            since: _,
        } = self;
        let now = Instant::now();
        let (mut waiting, mut later) = (VecDeque::new(), BTreeMap::<u32, Vec<usize>>::new());
        let mut started = false;
        for (index, run) in runs.iter_mut().enumerate() {
            match run.phase {
                Phase::Marking { spool_id } => {
                    started = true;
                    let flight = Flight::new(now, timeout, spool_id, patience);
                    run.phase = Phase::Flying(Box::new(Flying::new(flight)));
                }
                Phase::Waiting if run.batch > 1 => later.entry(run.batch).or_default().push(index),
                Phase::Waiting => waiting.push_back(index),
                Phase::Flying(_) | Phase::Settled => {}
            }
        }
        Job {
            number,
            kind,
            action: Some(action.of_job(kind, number)),
            timeout,
            noop,
            keeps_secrets,
            started,
            after_restart,
            runs,
            waiting,
            later,
            rollout,
            has_batches,
            failed,
            halted: None,
            tally,
            trace,
            watchers: Vec::new(),
            commits: watch::Sender::new(0),
        }
    }
}
