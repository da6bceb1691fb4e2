//! `tutti` / `hold_lease`, `release_lease` and `show_lease`, extensions of Tutti: while a job holds the lease of a node, only the runs
//! of Puppet that name the lease start there. [`HoldLeaseParams`], [`HoldLeaseResult`], [`ShowLeaseResult`].
//!
//! Invariant: a lease ends by itself when it is not renewed; a node never waits for an orchestrator that is gone.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Action of the module `tutti` with [`HoldLeaseParams`]; its result is a [`HoldLeaseResult`]. It is sent again to renew
/// the lease, and to learn if it is held.
pub const HOLD_LEASE_ACTION: &str = "hold_lease";
/// Action of the module `tutti` with [`ReleaseLeaseParams`]; the result is `{"released": bool}`, false if the node has no
/// such lease. A lease that was released cannot be held again.
pub const RELEASE_LEASE_ACTION: &str = "release_lease";

/// Action of the module `tutti` with [`ShowLeaseParams`]; its result is a [`ShowLeaseResult`].
pub const SHOW_LEASE_ACTION: &str = "show_lease";

/// The begin of the element of [`PuppetParams::env`](super::PuppetParams::env) that names the lease of a run. Agents that
/// do not know it ignore it.
pub(super) const LEASE_VARIABLE: &str = "TUTTI_LEASE=";

/// Parameters of `hold_lease`. Closed: an agent must refuse what it does not understand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldLeaseParams {
    /// The lease: the same for all nodes of a job, and never used by another one.
    pub lease: Uuid,
    /// Number of the orchestrator's job, for messages.
    pub job: String,
    /// The reason for people, in one line.
    pub reason: String,
    /// Seconds after which the lease ends unless it is renewed; `None`: it lasts until it is released, also over a
    /// restart of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u32>,
}

/// The state of a lease on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldLeaseResult {
    /// Whether runs without the lease are kept from starting now.
    pub state: HoldLeaseState,
    /// Process id of the run of Puppet whose end is awaited, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_pid: Option<u32>,
    /// Reason for a lease that is not held, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How far a node is with a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldLeaseState {
    /// Only runs that name the lease start.
    Held,
    /// The lease is not held yet: a run in progress, or the lease of another job, has to end first.
    Waiting,
    /// The lease is not held and will not be: it was released, or Puppet is not installed.
    Refused,
}

impl HoldLeaseState {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Refused => "refused",
        }
    }
}

/// Parameters of `release_lease`. Closed, as those of `hold_lease`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLeaseParams {
    /// The lease to end; `None`: whichever the node has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Uuid>,
    /// The lease without an end that this one replaced comes back, as it does when this one runs out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restore: bool,
}

/// Parameters of `show_lease`. Closed, as those of `hold_lease`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowLeaseParams {}

/// The lease of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowLeaseResult {
    /// `None` if the node has no lease.
    pub lease: Option<ShownLease>,
}

/// The lease that a node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownLease {
    /// Id of the lease, the same for all nodes of its job.
    pub lease: Uuid,
    /// Number of the orchestrator's job.
    pub job: String,
    /// The reason for people, in one line.
    pub reason: String,
    /// Seconds after which the lease ends unless it is renewed; `None`: it lasts until it is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_s: Option<u64>,
    /// How far the node is with it.
    #[serde(flatten)]
    pub held: HoldLeaseResult,
}

/// The element of [`PuppetParams::env`](super::PuppetParams::env) for a run that has a lease.
pub fn lease_variable(lease: Uuid) -> String {
    format!("{LEASE_VARIABLE}{lease}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{PuppetParams, decode, encode};
    use super::*;

    #[test]
    fn a_run_names_its_lease() {
        let lease = Uuid::from_u128(7);
        let of = |env| PuppetParams {
            env,
            ..PuppetParams::default()
        };
        let named = of(vec![json!("A=1"), json!(lease_variable(lease))]);
        assert_eq!(named.lease(), Some(lease));
        for bad in [json!("TUTTI_LEASE="), json!("TUTTI_LEASE=7"), json!(7)] {
            assert_eq!(of(vec![bad]).lease(), None);
        }
    }

    #[test]
    fn parameters_are_closed() {
        let lease = Uuid::from_u128(7);
        let raw = encode(
            &json!({"lease": lease, "job": "12", "reason": "r", "ttl_s": 60, "force": true}),
        );
        assert!(decode::<HoldLeaseParams>(&raw).is_err());
        let raw = encode(&json!({"lease": lease, "job": "12", "reason": "r"}));
        assert_eq!(decode::<HoldLeaseParams>(&raw).unwrap().ttl_s, None);
    }
}
