//! The request of a job to its nodes, in memory and sealed in the job's row: [`JobDispatch`].
//!
//! Invariant: a restarted engine sends what this one would have sent.

use std::sync::Arc;
use std::time::Duration;

use pki::seal::SealKey;
use serde::{Deserialize, Serialize};
use store::JobNumber;

use crate::applications::{DeferredComponents, StoredNodeOrder};
use crate::defaults::RUN_TIMEOUT;
use crate::kind::{JobAction, JobKind};
use crate::node_params_budget::NodeParamsBudget;
use crate::over_ssh::OverSsh;
use crate::puppet::PinnedCode;
use crate::trace::JobTrace;

/// The data needed to send the requests of a job. Sealed at rest: the parameters may be secret.
#[derive(Serialize, Deserialize)]
pub(crate) struct JobDispatch {
    /// The action for the agents; `None`: sealed before a restart and unreadable now.
    pub(crate) action: Option<JobAction>,
    /// Timeout of the run on one node.
    pub(crate) timeout_ms: u64,
    pub(crate) concurrency: Option<usize>,
    pub(crate) noop: bool,
    /// The job is a step of a plan of this server, which may read the values that tasks mark as
    /// `_sensitive`.
    #[serde(default)]
    pub(crate) keeps_secrets: bool,
    /// The version that the nodes of Puppet runs get; `None`: the live one.
    #[serde(default)]
    pub(crate) pinned: Option<PinnedCode>,
    /// The environment that all nodes of Puppet runs are to use; `None`: others are allowed.
    #[serde(default)]
    pub(crate) enforced_environment: Option<String>,
    /// The components that wait for later runs of their nodes; `None`: each catalog has all of them.
    #[serde(default)]
    pub(crate) deferred: Option<DeferredComponents>,
    /// The order of the nodes; `None` if none waits for another.
    #[serde(default)]
    pub(crate) order: Option<StoredNodeOrder>,
    /// Span context of the job in its trace, if it has one.
    #[serde(default)]
    pub(crate) trace: Option<JobTrace>,
}

// === impl JobDispatch ===

impl JobDispatch {
    pub(crate) fn seal(&self, seal: &SealKey) -> Vec<u8> {
        let plain = serde_json::to_vec(self).expect("JSON and numbers always serialise");
        seal.seal(&plain)
    }

    /// The content of the sealed part of a job's row; unreadable if it is absent or altered.
    pub(super) fn unseal(sealed: Option<&[u8]>, seal: &SealKey) -> Self {
        let plain = sealed.and_then(|sealed| seal.open(sealed).ok());
        let read = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
        read.unwrap_or(Self {
            action: None,
            timeout_ms: to_stored_timeout(RUN_TIMEOUT),
            concurrency: None,
            noop: false,
            keeps_secrets: false,
            pinned: None,
            enforced_environment: None,
            deferred: None,
            order: None,
            trace: None,
        })
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// SSH connections of nodes that the job requests to be reached over SSH.
    pub(super) fn over_ssh(&self) -> Arc<OverSsh> {
        let action = self.action.as_ref();
        action.map_or_else(Arc::default, |action| Arc::clone(&action.over_ssh))
    }

    /// Counts the memory of the parameters of nodes that were stored before a restart.
    pub(super) fn with_counted_params(self, budget: &NodeParamsBudget) -> Self {
        let action = self.action.map(|it| it.with_counted_params(budget));
        Self { action, ..self }
    }

    /// Adds the job's number to the action, if the kind sends it to the node.
    pub(super) fn with_job_number(self, kind: JobKind, number: JobNumber) -> Self {
        let action = self.action;
        let action = action.map(|action| action.with_job_number(kind, number));
        Self { action, ..self }
    }
}

/// A timeout as it is stored, in milliseconds.
pub(crate) fn to_stored_timeout(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)
}
