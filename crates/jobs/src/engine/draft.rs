//! A job before it has a number.
//!
//! [`NewTask`] is what the engine is handed, a [`Draft`] what it keeps while the job is inserted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pcp::Certname;
use serde_json::value::RawValue;
use store::{JobNumber, NewJob, StoreError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::book::{Flying, Job, Phase, Run};
use crate::flight::{Flight, Patience};
use crate::keys::JobKey;
use crate::tally::Tally;

/// A task that has been checked and sealed; what is left is to commit and to run it.
pub(crate) struct NewTask {
    /// Everything but the runs.
    pub(crate) row: NewJob,
    pub(crate) nodes: Vec<Certname>,
    pub(crate) params: Arc<RawValue>,
    pub(crate) timeout: Duration,
    pub(crate) concurrency: Option<usize>,
    pub(crate) noop: bool,
}

/// An insertion that came to its end.
pub(super) struct Inserted {
    pub(super) key: JobKey,
    pub(super) outcome: Result<JobNumber, StoreError>,
    pub(super) draft: Draft,
    pub(super) reply: oneshot::Sender<Result<JobNumber, StoreError>>,
}

/// A job that has no number yet.
pub(super) struct Draft {
    pub(super) params: Arc<RawValue>,
    pub(super) timeout: Duration,
    pub(super) noop: bool,
    pub(super) runs: Vec<Run>,
    pub(super) tally: Tally,
}

// === impl Draft ===

impl Draft {
    pub(super) fn into_job(self, number: JobNumber, patience: &Patience) -> Job {
        let Self {
            params,
            timeout,
            noop,
            mut runs,
            tally,
        } = self;
        let now = Instant::now();
        let mut waiting = VecDeque::new();
        let mut started = false;
        for (index, run) in runs.iter_mut().enumerate() {
            match run.phase {
                Phase::Marking { spool_id } => {
                    started = true;
                    let flight = Flight::new(now, timeout, spool_id, patience);
                    run.phase = Phase::Flying(Box::new(Flying::new(flight)));
                }
                Phase::Waiting => waiting.push_back(index),
                Phase::Flying(_) | Phase::Settled => {}
            }
        }
        Job {
            number,
            params: Some(params),
            timeout,
            noop,
            started,
            recovered: false,
            runs,
            waiting,
            tally,
            watchers: Vec::new(),
            commits: watch::Sender::new(0),
        }
    }
}
