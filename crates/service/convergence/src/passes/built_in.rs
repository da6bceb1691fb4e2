//! Passes as a plan job of their own: [`BuiltInPasses`], the program of a [`MultiPassLaunch`].
//!
//! Invariant: a launch holds everything that the passes need, so that the plan job goes on in another process with the
//! same passes, whatever was deployed in between.

use api_types::DeployCommand;
use api_types::multi_pass::{MULTI_PASS_PLAN, PASSES_FAILED};
use jobs::{CatalogCode, JobLimits, JobSpec, JobWork, NodeScope, PuppetWork, RunPasses};
use plans::{BranchResult, PlanBranch, PlanFault, PlanProgram};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{MultiPassState, run_passes};

/// Passes, as they are stored with their plan job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MultiPassLaunch {
    #[serde(flatten)]
    pub planned: RunPasses,
    /// The command; its scope does not count any more.
    pub command: DeployCommand,
    /// The code of all catalogs.
    pub code: CatalogCode,
}

/// The stored launch cannot be read: it was damaged, or another version of the server wrote it.
#[derive(Debug, thiserror::Error)]
#[error("the stored request cannot be read: {0}")]
pub struct InvalidMultiPass(String);

/// The program of a plan job of passes.
#[derive(Debug)]
pub struct BuiltInPasses {
    job: JobSpec,
    work: PuppetWork,
    planned: RunPasses,
}

// === impl MultiPassLaunch ===

impl MultiPassLaunch {
    /// The launch as it is stored with its plan job.
    pub fn to_stored(&self) -> Value {
        json!(self)
    }
}

// === impl BuiltInPasses ===

impl BuiltInPasses {
    /// The program of a stored launch.
    pub fn new(stored: &Value) -> Result<Self, InvalidMultiPass> {
        let launch = MultiPassLaunch::deserialize(stored);
        let launch = launch.map_err(|error| InvalidMultiPass(error.to_string()))?;
        let MultiPassLaunch {
            planned,
            command,
            code,
        } = launch;
        let work = PuppetWork::from_command(&command);
        let mut work = work.map_err(|error| InvalidMultiPass(error.to_string()))?;
        work.code = code;
        let shared = JobWork::Puppet(work.clone());
        Ok(Self {
            job: JobSpec {
                limits: JobLimits::from_command(
                    command.concurrency,
                    command.timeout,
                    command.rollout(),
                ),
                description: command.description,
                userdata: command.userdata,
                ..JobSpec::new(shared, NodeScope::Nodes(Vec::new()))
            },
            work,
            planned,
        })
    }
}

impl PlanProgram for BuiltInPasses {
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult {
        let planned = self.planned.clone();
        let shared = (&self.job, &self.work);
        let outcome = run_passes(branch, shared, planned, MULTI_PASS_PLAN, &mut |_| ())?;
        if outcome.state == MultiPassState::Succeeded {
            return Ok(json!(outcome));
        }
        Err(PlanFault::Failed(json!({
            "kind": PASSES_FAILED,
            "msg": outcome.describe(),
            "details": outcome,
        })))
    }
}
