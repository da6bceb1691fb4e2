//! A job before it has a number.
//!
//! [`PreparedJob`] is the engine's input, a [`JobDraft`] is kept while the job is inserted; [`JobNotRun`] is
//! the reason that it was not run.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use api_types::rollout::RolloutOptions;
use pcp::Certname;
use pki::seal::SealKey;
use store::{JobNumber, NewJob, StoreError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::active_jobs::{ActiveJob, ActiveRun, DispatchedRun, RunPhase};
use super::recover::SealedDispatch;
use crate::in_flight::{InFlightRun, PollSettings};
use crate::keys::JobKey;
use crate::kind::{JobAction, JobKind};
use crate::rollout::Rollout;
use crate::tally::RunTally;
use crate::trace::JobTrace;
use crate::verdict::RunVerdict;

/// A job that has been checked and sealed; it only has to be committed and run.
pub(crate) struct PreparedJob {
    /// The job's row, without its runs.
    pub(crate) row: NewJob,
    pub(crate) targets: Vec<JobTarget>,
    pub(crate) kind: JobKind,
    pub(crate) action: JobAction,
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
pub(crate) struct JobTarget {
    pub(crate) certname: Certname,
    /// Reason that the node is not asked at all.
    pub(crate) refusal: Option<RunVerdict>,
}

/// A completed insertion.
pub(super) struct JobInsertion {
    pub(super) key: JobKey,
    pub(super) outcome: Result<JobNumber, StoreError>,
    pub(super) draft: JobDraft,
    pub(super) reply: oneshot::Sender<Result<JobNumber, JobNotRun>>,
}

/// Reason that a submitted task was not run.
#[derive(Debug)]
pub(crate) enum JobNotRun {
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
pub(super) struct JobDraft {
    pub(super) kind: JobKind,
    pub(super) action: JobAction,
    pub(super) timeout: Duration,
    pub(super) noop: bool,
    /// As in [`PreparedJob`].
    pub(super) keeps_secrets: bool,
    /// As in [`ActiveJob`].
    pub(super) after_restart: bool,
    pub(super) runs: Vec<ActiveRun>,
    pub(super) rollout: Rollout,
    /// As in [`ActiveJob`].
    pub(super) has_batches: bool,
    /// As in [`ActiveJob`].
    pub(super) failed: Vec<Certname>,
    pub(super) tally: RunTally,
    pub(super) trace: Option<JobTrace>,
    /// Start of the job's commit.
    pub(super) since: SystemTime,
}

// === impl Prepared ===

impl PreparedJob {
    /// Seals into the job's row all that a restarted engine needs to run it.
    pub(crate) fn into_sealed(mut self, seal: &SealKey) -> Self {
        let dispatch = SealedDispatch {
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

impl From<Certname> for JobTarget {
    fn from(certname: Certname) -> Self {
        let refusal = None;
        Self { certname, refusal }
    }
}

// === impl Draft ===

impl JobDraft {
    pub(super) fn into_job(self, number: JobNumber, patience: &PollSettings) -> ActiveJob {
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
                RunPhase::Marking { spool_id } => {
                    started = true;
                    let flight = InFlightRun::new(now, timeout, spool_id, patience);
                    run.phase = RunPhase::Dispatched(Box::new(DispatchedRun::new(flight)));
                }
                RunPhase::Waiting if run.batch > 1 => {
                    later.entry(run.batch).or_default().push(index)
                }
                RunPhase::Waiting => waiting.push_back(index),
                RunPhase::Dispatched(_) | RunPhase::Settled => {}
            }
        }
        ActiveJob {
            number,
            kind,
            action: Some(action.with_job_number(kind, number)),
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
