//! Repeated runs as a plan job of their own: [`BuiltInConvergence`], the program of a [`ConvergenceLaunch`].
//!
//! Invariant: a launch holds everything that the waves need, so that the plan job goes on in another process.

use std::sync::Arc;

use api_types::DeployCommand;
use api_types::converge::{CONVERGENCE_PLAN, NOT_CONVERGED};
use jobs::{CatalogCode, JobSpec, JobWork, NodeScope, PuppetWork};
use pcp::Certname;
use plans::{BranchResult, PlanBranch, PlanFault, PlanProgram};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::converge::{ConvergenceRequest, ImportedData, converge};
use crate::options::ConvergenceOptions;
use crate::outcome::ConvergenceState;
use crate::rerun_limiter::RerunLimiter;

/// Runs that are repeated, as they are stored with their plan job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConvergenceLaunch {
    /// The nodes, after groups and queries were resolved.
    pub nodes: Vec<Certname>,
    /// The command; its scope does not count any more.
    pub command: DeployCommand,
    /// The code of all catalogs.
    pub code: CatalogCode,
    pub options: ConvergenceOptions,
}

/// The stored launch cannot be read: it was damaged, or another version of the server wrote it.
#[derive(Debug, thiserror::Error)]
#[error("the stored request cannot be read: {0}")]
pub struct InvalidConvergence(String);

/// The program of a plan job of repeated runs.
#[derive(Debug)]
pub struct BuiltInConvergence {
    job: JobSpec,
    options: ConvergenceOptions,
    imported_data: Arc<dyn ImportedData>,
    reruns: Arc<RerunLimiter>,
}

// === impl ConvergenceLaunch ===

impl ConvergenceLaunch {
    /// The launch as it is stored with its plan job.
    pub fn to_stored(&self) -> Value {
        json!(self)
    }
}

// === impl BuiltInConvergence ===

impl BuiltInConvergence {
    /// The program of a stored launch.
    pub fn new(
        stored: &Value,
        imported_data: Arc<dyn ImportedData>,
        reruns: Arc<RerunLimiter>,
    ) -> Result<Self, InvalidConvergence> {
        let launch = ConvergenceLaunch::deserialize(stored);
        let launch = launch.map_err(|error| InvalidConvergence(error.to_string()))?;
        let ConvergenceLaunch {
            nodes,
            command,
            code,
            options,
        } = launch;
        let work = PuppetWork::from_command(&command);
        let mut work = work.map_err(|error| InvalidConvergence(error.to_string()))?;
        work.code = code;
        work.reports_reruns = true;
        Ok(Self {
            job: JobSpec {
                limits: jobs::JobLimits::from_command(
                    command.concurrency,
                    command.timeout,
                    command.rollout(),
                ),
                description: command.description.clone(),
                userdata: command.userdata.clone(),
                ..JobSpec::new(JobWork::Puppet(work), NodeScope::Nodes(nodes))
            },
            options,
            imported_data,
            reruns,
        })
    }
}

impl PlanProgram for BuiltInConvergence {
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult {
        let request = ConvergenceRequest {
            job: &self.job,
            options: self.options,
            imported_data: &self.imported_data,
            reruns: &self.reruns,
            site: CONVERGENCE_PLAN,
            // The launch is stored, and never another one.
            shown: &Value::Null,
        };
        let outcome = converge(branch, &request, &mut |_| ())?;
        if outcome.state == ConvergenceState::Converged {
            return Ok(json!(outcome));
        }
        Err(PlanFault::Failed(json!({
            "kind": NOT_CONVERGED,
            "msg": outcome.describe(),
            "details": outcome,
        })))
    }
}
