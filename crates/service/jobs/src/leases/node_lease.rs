//! The lease of one node, as its agent last said: [`NodeLease`]. No I/O.

use pcp::Certname;
use pxp::action::{HoldLeaseResult, HoldLeaseState};

use crate::blocking_requests::NodeRequestError;
use crate::verdict::clip;

/// Reason of a node whose agent is a pxp-agent, or an older one.
pub(super) const NO_LEASES: &str = "its agent knows no leases";

/// How far a node is with its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeLease {
    /// Other runs do not start.
    Held,
    /// The agent waits for the end of a run in progress, or of another lease, in its words.
    Waiting(Option<String>),
    /// The agent does not answer in time.
    Silent,
    /// The agent does not take the lease, for this reason.
    Refused(String),
    /// The node's agent knows no leases.
    Unsupported,
    /// The node is not connected.
    Absent,
}

/// The result of taking the leases of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseSummary {
    /// Number of nodes that are held.
    pub(crate) held: usize,
    /// Nodes that are not held, each with the reason.
    pub(crate) unheld: Vec<(Certname, String)>,
}

// === impl NodeLease ===

impl NodeLease {
    pub(super) fn from_answer(answer: Result<HoldLeaseResult, NodeRequestError>) -> Self {
        match answer {
            Ok(HoldLeaseResult { state, message, .. }) => match state {
                HoldLeaseState::Held => Self::Held,
                HoldLeaseState::Waiting => {
                    Self::Waiting(message.map(|message| clip(&message).to_owned()))
                }
                HoldLeaseState::Refused => {
                    let message = message.unwrap_or_else(|| "no reason was given".to_owned());
                    Self::Refused(clip(&message).to_owned())
                }
            },
            Err(NodeRequestError::NotSent(_)) => Self::Absent,
            // A busy agent answers the next request.
            Err(NodeRequestError::Timeout(_)) => Self::Silent,
            Err(error) => Self::Refused(clip(&error.to_string()).to_owned()),
        }
    }

    /// Reason that the node is not held; `None` if it is.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Held => None,
            Self::Waiting(None) => Some("a run of Puppet is in progress".to_owned()),
            Self::Waiting(Some(message)) => Some(message.clone()),
            Self::Silent => Some("its agent does not answer".to_owned()),
            Self::Refused(reason) => Some(reason.clone()),
            Self::Unsupported => Some(NO_LEASES.to_owned()),
            Self::Absent => Some("it is not connected".to_owned()),
        }
    }
}

// === impl LeaseSummary ===

impl LeaseSummary {
    pub(super) fn of<'a>(leases: impl Iterator<Item = (&'a Certname, &'a NodeLease)>) -> Self {
        let mut summary = Self::default();
        for (node, lease) in leases {
            match lease.reason() {
                None => summary.held += 1,
                Some(reason) => summary.unheld.push((node.clone(), reason)),
            }
        }
        summary
    }
}
