//! The leases of simulated agents.
//!
//! Invariant: an agent has one lease at a time; a lease without an end gives way to another one, and comes back if that is
//! released so.

use std::collections::HashSet;

use pcp::Certname;
use pxp::PxpRequest;
use pxp::action::{self, HoldLeaseResult, HoldLeaseState};
use serde_json::json;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{Agent, Inner, Manner, Sim, lock};

/// A lie of an agent about leases, of which it holds none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseLie {
    /// It says that it holds the lease.
    Held,
    /// It says so in the name of another node.
    OtherNode,
    /// Its answer has another form.
    Garbage,
    /// Its answer has more bytes than the engine reads.
    TooLong,
    /// No lie: it holds leases, and cannot store one without an end.
    NotKept,
}

impl Sim {
    /// Requests about leases: node, action and lease, in order.
    pub(crate) fn leases_asked(&self) -> Vec<(Certname, String, Uuid)> {
        lock(&self.inner.leases_asked).clone()
    }

    /// Nodes with a run under a lease.
    pub(crate) fn leased_runs(&self) -> HashSet<Certname> {
        lock(&self.inner.leased_runs).clone()
    }

    /// The lease that an agent holds.
    pub(crate) fn lease(&self, certname: &Certname) -> Option<Uuid> {
        self.inner.with(certname, |agent| agent.lease)
    }

    /// Lets an agent hold a lease without an end.
    pub(crate) fn keep(&self, certname: &Certname, lease: Uuid) {
        self.inner.with(certname, |agent| agent.hold(lease, true));
    }

    /// The time of the lease that an agent holds is up.
    pub(crate) fn end_lease(&self, certname: &Certname) {
        self.inner.with(certname, |agent| agent.lease = None);
    }

    /// Lets the lease of another server's job take the place of the one that an agent holds.
    pub(crate) fn supersede(&self, certname: &Certname, lease: Uuid) {
        self.inner.with(certname, |agent| {
            (agent.lease, agent.is_superseded) = (Some(lease), true);
        });
    }

    /// The lease that an agent holds until it is released.
    pub(crate) fn quarantine(&self, certname: &Certname) -> Option<Uuid> {
        self.inner.with(certname, |agent| agent.quarantine)
    }
}

impl Inner {
    pub(super) fn lease_answer(
        &self,
        certname: &Certname,
        manner: &Manner,
        request: &PxpRequest,
    ) -> Box<RawValue> {
        let (lease, is_lasting, restores) = match request.action.as_str() {
            action::HOLD_LEASE_ACTION => {
                let params: action::HoldLeaseParams = action::decode(&request.params).unwrap();
                (params.lease, params.ttl_s.is_none(), false)
            }
            action::SHOW_LEASE_ACTION => return self.shown_lease(certname),
            _ => {
                let params: action::ReleaseLeaseParams = action::decode(&request.params).unwrap();
                let held = self.with(certname, |agent| agent.lease);
                let lease = params.lease.or(held).unwrap_or_default();
                (lease, false, params.restore)
            }
        };
        let asked = (certname.clone(), request.action.clone(), lease);
        lock(&self.leases_asked).push(asked);
        if request.action == action::RELEASE_LEASE_ACTION {
            let had = self.with(certname, |agent| agent.release(lease, restores));
            return action::encode(&json!({"released": had}));
        }
        if let Some(answer) = manner.lease_lie.and_then(|lie| lie.answer(is_lasting)) {
            return answer;
        }
        if self.with(certname, |agent| agent.is_superseded) {
            return action::encode(&HoldLeaseResult {
                state: HoldLeaseState::Waiting,
                run_pid: None,
                message: Some("the lease of job 7 is held".to_owned()),
            });
        }
        let state = match manner.refuses_leases {
            Some(_) => HoldLeaseState::Refused,
            None if manner.runs_puppet => HoldLeaseState::Waiting,
            None => {
                self.with(certname, |agent| agent.hold(lease, is_lasting));
                HoldLeaseState::Held
            }
        };
        action::encode(&HoldLeaseResult {
            state,
            run_pid: None,
            message: manner.refuses_leases.map(str::to_owned),
        })
    }

    fn shown_lease(&self, certname: &Certname) -> Box<RawValue> {
        let (lease, quarantine) = self.with(certname, |agent| (agent.lease, agent.quarantine));
        let held = HoldLeaseResult {
            state: HoldLeaseState::Held,
            run_pid: None,
            message: None,
        };
        let lease = lease.map(|lease| action::ShownLease {
            lease,
            job: "1".to_owned(),
            reason: "the test".to_owned(),
            ends_in_s: quarantine.is_none().then_some(60),
            held,
        });
        action::encode(&action::ShowLeaseResult { lease })
    }
}

impl LeaseLie {
    /// `None`: it answers truthfully.
    fn answer(self, is_lasting: bool) -> Option<Box<RawValue>> {
        Some(match self {
            Self::Held | Self::OtherNode => action::encode(&json!({"state": "held"})),
            Self::Garbage => action::encode(&json!({"state": "owned", "message": [7]})),
            Self::NotKept if is_lasting => {
                action::encode(&json!({"state": "refused", "message": "no space is left"}))
            }
            Self::NotKept => return None,
            Self::TooLong => {
                let message = "x".repeat(70_000);
                action::encode(&json!({"state": "waiting", "message": message}))
            }
        })
    }
}

impl Agent {
    fn hold(&mut self, lease: Uuid, is_lasting: bool) {
        if let Some(before) = self.lease.filter(|before| *before != lease) {
            assert_eq!(self.quarantine, Some(before), "two leases at a time");
            self.replaced = self.quarantine.take();
        }
        self.lease = Some(lease);
        if is_lasting {
            (self.quarantine, self.replaced) = (Some(lease), None);
        }
    }

    /// `false`: it has not this lease.
    fn release(&mut self, lease: Uuid, restores: bool) -> bool {
        if self.lease != Some(lease) {
            return false;
        }
        self.quarantine = self.replaced.take().filter(|_| restores);
        self.lease = self.quarantine;
        true
    }
}
