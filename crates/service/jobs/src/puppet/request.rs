//! Requests for Puppet runs, and the reasons for refusing them.
//!
//! [`PuppetRunRequest`], [`CatalogCode`] and [`PuppetRunError`]. Invariant: a refused request has changed
//! nothing.

use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::CodeError;
use pcp::Certname;
use serde_json::{Map, Value};
use store::{PlanJournalWrite, SlotKey};

use super::flags::{PuppetFlagError, PuppetFlags};
use crate::resolve::NodeResolveError;
use crate::submit::JobSubmitError;
use crate::targets::{NodeScope, ScopeError};

/// A request to run Puppet on nodes.
#[derive(Clone, Debug, Default)]
pub struct PuppetRunRequest {
    /// Name of the environment; empty: each node runs in its own.
    pub environment: String,
    /// The nodes to run on, before groups and queries are resolved; `None`: all nodes of the
    /// environment.
    pub scope: Option<NodeScope>,
    /// The certnames that `scope` resolves to, if the caller has resolved it already.
    pub nodes: Option<Vec<Certname>>,
    /// A node that is classified into another environment does not run.
    pub enforce_environment: bool,
    /// Options of the Puppet run.
    pub flags: PuppetFlags,
    /// Code version that the catalogs are compiled from.
    pub code: CatalogCode,
    /// Nodes at once, for this job; otherwise only `global_concurrent_compiles` bounds it.
    pub concurrency: Option<usize>,
    /// Batches, pauses between them, and how many nodes may fail.
    pub rollout: RolloutOptions,
    /// Timeout of the run on one node; `None`: the engine's default.
    pub timeout: Option<Duration>,
    /// Free text shown in lists and logs.
    pub description: String,
    /// Free keys and values, echoed with the job.
    pub userdata: Map<String, Value>,
    /// Login of the user who requested the job.
    pub owner: String,
    /// The slot of a schedule that it runs for; a slot has one job at most.
    pub slot: Option<SlotKey>,
    /// The plan job that this is a step of; this server runs the plan.
    pub plan_job: Option<i64>,
    /// Record about that plan which is stored with the job.
    pub mark: Option<PlanJournalWrite>,
}

/// Option of a job whose environment keeps its code version until the job is over.
const LOCK: &str = "lock";

/// Code version that the catalogs of a job are compiled from. It is only recorded here: the creator
/// of the job keeps the version in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CatalogCode {
    /// Each catalog is compiled from the version that is live when its node asks for it.
    #[default]
    Latest,
    /// All catalogs are compiled from the version that is live when the job is made, which stays
    /// until the job is over.
    Locked {
        /// Code id of that version; `None`: the environment has no versions.
        code_id: Option<String>,
    },
}

/// Reason that Puppet was not run. Nothing was sent, and nothing stored unless stated otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PuppetRunError {
    /// The text is not a valid environment name.
    #[error("`{name}` is not an environment's name: {reason}")]
    EnvironmentName {
        /// The name as requested.
        name: String,
        /// The problem with the name.
        reason: String,
    },
    /// The request enforces an environment but names none.
    #[error(
        "enforce_environment must be false where environment is empty: each node runs in its own then"
    )]
    NothingToEnforce,
    /// The request names neither an environment nor nodes.
    #[error("name the nodes in scope, or an environment, whose nodes are meant then")]
    Nowhere,
    /// There is no such environment, or its code cannot be used.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// A Puppet option is invalid.
    #[error(transparent)]
    Flag(#[from] PuppetFlagError),
    /// The scope resolves to no nodes.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The environments of the nodes cannot be looked up.
    #[error("the environments of the nodes cannot be looked up: {0}")]
    Classify(NodeResolveError),
    /// A concurrency, timeout or rollout limit is invalid.
    #[error("{0}")]
    Limit(String),
    /// The engine did not accept the job.
    #[error(transparent)]
    Submit(#[from] JobSubmitError),
}

// === impl RunCode ===

impl CatalogCode {
    /// The mode as the job shows it, with the code id.
    pub(super) fn to_shown_mode(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Latest => ("latest", None),
            Self::Locked { code_id } => (LOCK, code_id.as_deref()),
        }
    }

    /// True if a job with these options keeps its environment's code version until it is over.
    pub fn is_locked(options: &Value) -> bool {
        options["code"] == LOCK
    }
}
