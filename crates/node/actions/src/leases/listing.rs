//! A lease as an administrator of the node sees it: [`LeaseListing`].

use std::fmt;

use jiff::Timestamp;
use pxp::action::{HoldLeaseResult, HoldLeaseState, ShownLease};
use serde::Serialize;
use uuid::Uuid;

use super::{HolderProgress, HolderRecord, LeaseTerm, StoredLease};
use crate::spool::ClockReading;

/// The lease of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseListing {
    pub lease: Uuid,
    pub state: HoldLeaseState,
    /// Number of the orchestrator's job.
    pub job: String,
    pub reason: String,
    /// Address of the orchestrator that requested the lease.
    pub requester: String,
    /// End of the lease unless it is renewed; `None` for a lease that lasts until it is released.
    pub until: Option<Timestamp>,
    /// The same, in seconds from now.
    pub ends_in_s: Option<u64>,
    /// Process id of the run of Puppet whose end is awaited.
    pub run_pid: Option<u32>,
    /// Reason for a lease that cannot be held.
    pub message: Option<String>,
}

// === impl LeaseListing ===

impl LeaseListing {
    pub(super) fn of(
        lease: &StoredLease,
        holder: Option<HolderRecord>,
        now: &ClockReading,
    ) -> Self {
        let progress = holder.filter(|holder| holder.lease == lease.lease);
        let progress = progress.map_or(HolderProgress::Waiting { run_pid: None }, |it| it.progress);
        let result = progress.into_result();
        Self {
            lease: lease.lease,
            state: result.state,
            job: lease.job.clone(),
            reason: lease.reason.clone(),
            requester: lease.requester.clone(),
            until: lease.ends_at(now),
            ends_in_s: match lease.term(now) {
                LeaseTerm::Ends(left) => Some(left.as_secs()),
                LeaseTerm::Over => Some(0),
                LeaseTerm::UntilReleased => None,
            },
            run_pid: result.run_pid,
            message: result.message,
        }
    }

    /// The listing as an answer to an orchestrator.
    pub(super) fn into_shown(self) -> ShownLease {
        ShownLease {
            lease: self.lease,
            job: self.job,
            reason: self.reason,
            ends_in_s: self.ends_in_s,
            held: HoldLeaseResult {
                state: self.state,
                run_pid: self.run_pid,
                message: self.message,
            },
        }
    }

    /// The listing as one JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers");
        format!("{text}\n")
    }
}

impl fmt::Display for LeaseListing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match (self.state, self.run_pid, &self.message) {
            (HoldLeaseState::Held, ..) => "held: only runs of this job start".to_owned(),
            (HoldLeaseState::Waiting, Some(pid), _) => {
                format!("waits for the end of a run of Puppet (process {pid})")
            }
            (HoldLeaseState::Waiting, None, _) => "not held yet".to_owned(),
            (HoldLeaseState::Refused, _, Some(message)) => format!("cannot be held: {message}"),
            (HoldLeaseState::Refused, _, None) => "cannot be held".to_owned(),
        };
        let until = match self.until {
            Some(until) => format!("{until}, unless the orchestrator renews it"),
            None => "it is released".to_owned(),
        };
        writeln!(f, "lease    {}", self.lease)?;
        writeln!(f, "state    {state}")?;
        writeln!(f, "job      {} of {}", self.job, self.requester)?;
        writeln!(f, "reason   {}", self.reason)?;
        writeln!(f, "until    {until}")
    }
}
