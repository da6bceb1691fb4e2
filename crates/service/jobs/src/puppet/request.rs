//! What a caller asks for, and why it may be refused.
//!
//! [`DeployRequest`], [`RunCode`] and [`DeployError`]; the rule: a refused request has changed nothing.

use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::CodeError;
use pcp::Certname;
use serde_json::{Map, Value};
use store::{PlanMark, SlotKey};

use super::flags::{FlagProblem, PuppetFlags};
use crate::resolve::ResolveError;
use crate::submit::SubmitError;
use crate::targets::{Scope, ScopeError};

/// A Puppet run on nodes.
#[derive(Clone, Debug, Default)]
pub struct DeployRequest {
    /// Empty: each node runs in its own.
    pub environment: String,
    /// Where; `None`: all of the environment.
    pub scope: Option<Scope>,
    /// What `scope` comes to, where the caller knows already.
    pub nodes: Option<Vec<Certname>>,
    /// A node that is classified into another environment does not run.
    pub enforce_environment: bool,
    /// How Puppet is to run.
    pub flags: PuppetFlags,
    /// Which version of the code its catalogs are made of.
    pub code: RunCode,
    /// Nodes at once, for this job; otherwise only `global_concurrent_compiles` bounds it.
    pub concurrency: Option<usize>,
    /// Batches, pauses between them, and how many nodes may fail.
    pub rollout: RolloutOptions,
    /// How long one node may take; the engine's default otherwise.
    pub timeout: Option<Duration>,
    /// For people.
    pub description: String,
    /// Free keys and values, echoed with the job.
    pub userdata: Map<String, Value>,
    /// The login of who asks.
    pub owner: String,
    /// The slot of a schedule that it runs for; a slot has one job at most.
    pub slot: Option<SlotKey>,
    /// The plan job that this is a step of; this server runs the plan.
    pub plan_job: Option<i64>,
    /// What is written of that plan with the job.
    pub mark: Option<PlanMark>,
}

/// Of a job that keeps its environment as it is.
const LOCK: &str = "lock";

/// Which version of the code the catalogs of a job are made of. It is only told here: who makes the job
/// keeps the version where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunCode {
    /// Each of what is live when the node asks for it.
    #[default]
    Latest,
    /// All of the one that is live when the job is made, and that stays until it is over.
    Locked {
        /// Its code id; `None`: the environment has no versions.
        code_id: Option<String>,
    },
}

/// Why Puppet was not run. Nothing was sent, and nothing stored unless said otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// The name cannot be an environment's.
    #[error("`{name}` is not an environment's name: {reason}")]
    EnvironmentName {
        /// As asked.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Enforcing no environment.
    #[error(
        "enforce_environment must be false where environment is empty: each node runs in its own then"
    )]
    NothingToEnforce,
    /// Neither an environment nor nodes.
    #[error("name the nodes in scope, or an environment, whose nodes are meant then")]
    Nowhere,
    /// There is no such environment, or its code cannot be used.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// An option that cannot be used.
    #[error(transparent)]
    Flag(#[from] FlagProblem),
    /// The scope comes to no nodes.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The nodes' environments are not known.
    #[error("the environments of the nodes cannot be looked up: {0}")]
    Classify(ResolveError),
    /// A limit that makes no sense.
    #[error("{0}")]
    Limit(String),
    /// The job was not taken.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

// === impl RunCode ===

impl RunCode {
    /// As the job shows it, with the code id.
    pub(super) fn shown(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Latest => ("latest", None),
            Self::Locked { code_id } => (LOCK, code_id.as_deref()),
        }
    }

    /// Whether a job with these options keeps its environment as it is.
    pub fn is_locked(options: &Value) -> bool {
        options["code"] == LOCK
    }
}
