//! A job before it has a number.
//!
//! [`PreparedJob`] is the engine's input, a [`JobDraft`] is kept while the job is inserted.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use api_types::rollout::RolloutOptions;
use pcp::Certname;
use store::{JobNumber, NewJob, StoreError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::active_jobs::{ActiveJob, ActiveRun, DispatchedRun, RunPhase};
use super::dispatch::JobDispatch;
use crate::applications::RunOrder;
use crate::in_flight::{InFlightRun, PollSettings};
use crate::keys::JobKey;
use crate::kind::JobKind;
use crate::leases::WantedLease;
use crate::rollout::{Rollout, SplayedStarts};
use crate::submit::JobSubmitError;
use crate::tally::RunTally;
use crate::verdict::RunVerdict;

/// A job that has been checked and sealed; it only has to be committed and run.
pub(crate) struct PreparedJob {
    /// The job's row, without its runs.
    pub(crate) row: NewJob,
    pub(crate) targets: Vec<JobTarget>,
    pub(crate) kind: JobKind,
    pub(crate) dispatch: JobDispatch,
    pub(crate) rollout: RolloutOptions,
    /// As in [`JobPlanStep`](crate::JobPlanStep).
    pub(crate) after_restart: bool,
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
    pub(super) reply: oneshot::Sender<Result<JobNumber, JobSubmitError>>,
}

/// A job that has no number yet.
pub(super) struct JobDraft {
    pub(super) kind: JobKind,
    pub(super) dispatch: JobDispatch,
    /// As in [`ActiveJob`].
    pub(super) after_restart: bool,
    pub(super) runs: Vec<ActiveRun>,
    pub(super) rollout: Rollout,
    /// Time over which the starts are spread; `None`: they are not.
    pub(super) splay: Option<Duration>,
    /// As in [`ActiveJob`].
    pub(super) order: Option<RunOrder>,
    /// The lease of the nodes in the order.
    pub(super) lease: Option<WantedLease>,
    /// As in [`ActiveJob`].
    pub(super) has_batches: bool,
    /// As in [`ActiveJob`].
    pub(super) failed: Vec<Certname>,
    pub(super) tally: RunTally,
    /// Start of the job's commit.
    pub(super) since: SystemTime,
}

// === impl JobTarget ===

impl From<Certname> for JobTarget {
    fn from(certname: Certname) -> Self {
        let refusal = None;
        Self { certname, refusal }
    }
}

// === impl JobDraft ===

impl JobDraft {
    pub(super) fn into_job(self, number: JobNumber, patience: &PollSettings) -> ActiveJob {
        let Self {
            kind,
            dispatch,
            after_restart,
            mut runs,
            rollout,
            splay,
            order,
            lease: _,
            has_batches,
            failed,
            tally,
            since: _,
        } = self;
        let (now, timeout) = (Instant::now(), dispatch.timeout());
        let (mut first, mut later) = (Vec::new(), BTreeMap::<u32, Vec<usize>>::new());
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
                RunPhase::Waiting => first.push(index),
                RunPhase::Dispatched(_) | RunPhase::Settled => {}
            }
        }
        let mut job = ActiveJob {
            number,
            kind,
            dispatch: dispatch.with_job_number(kind, number),
            started,
            after_restart,
            runs,
            waiting: VecDeque::new(),
            later,
            rollout,
            splayed: None,
            order,
            has_batches,
            failed,
            halted: None,
            tally,
            watchers: Vec::new(),
            commits: watch::Sender::new(0),
        };
        match splay {
            Some(splay) => job.splayed = Some(SplayedStarts::new(first, splay, now)),
            None => drop(job.queue(first)),
        }
        job
    }
}
