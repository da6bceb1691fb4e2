//! The passes of a call in a plan: [`plan_passes`].
//!
//! Invariant: the passes are the outcome of a step, so a plan that is evaluated again after a restart has the same ones,
//! whatever was deployed meanwhile.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use environments::EnvironmentName;
use jobs::{Jobs, NodeScope, RunPasses};
use pcp::Certname;
use plans::{LocalEffect, PlanBranch, PlanFault, StepOutcome, StepWork, task_refusal_error};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::plan_steps::PuppetSteps;

/// Plans the passes in which nodes run.
#[async_trait]
pub trait PassPlanner: fmt::Debug + Send + Sync {
    /// The passes of the nodes.
    ///
    /// # Errors
    /// The error of a plan, as JSON.
    async fn plan(&self, request: &PassRequest) -> Result<RunPasses, Value>;
}

/// The nodes whose passes are planned.
#[derive(Clone, Debug)]
pub struct PassRequest {
    pub nodes: Vec<Certname>,
    /// The environment whose applications order them, with its live code.
    pub environment: EnvironmentName,
    /// Id of the user for whom they run.
    pub owner_id: String,
}

#[async_trait]
impl PassPlanner for Jobs {
    async fn plan(&self, request: &PassRequest) -> Result<RunPasses, Value> {
        let scope = NodeScope::Nodes(request.nodes.clone());
        let version = (&request.environment, None);
        let planned = self.node_passes(&scope, version, &request.owner_id).await;
        match planned {
            Ok(planned) => Ok(planned.passes),
            Err(error) => Err(task_refusal_error(&error)),
        }
    }
}

/// Plans the passes as a step. `shown` has the options of the call, which distinguish the step.
///
/// # Errors
/// There are no such passes, or the plan has to end.
pub fn plan_passes(
    branch: &PlanBranch<'_>,
    (planner, request): (&Arc<dyn PassPlanner>, PassRequest),
    shown: &Value,
    site: &str,
) -> Result<RunPasses, PlanFault> {
    let steps = PuppetSteps { branch, site };
    let arguments = json!({"on": request.nodes, "do": shown});
    let work = StepWork::RunLocalEffect(Arc::new(PassPlanning {
        planner: Arc::clone(planner),
        request,
    }));
    let outcome = steps.step("passes", arguments, work)?;
    if !outcome.ok {
        return Err(PlanFault::Failed((*outcome.value).clone()));
    }
    let planned = RunPasses::deserialize(&*outcome.value);
    let unreadable = |error| PlanFault::new("tutti/plan-unreadable", &format!("passes: {error}"));
    planned.map_err(unreadable)
}

struct PassPlanning {
    planner: Arc<dyn PassPlanner>,
    request: PassRequest,
}

#[async_trait]
impl LocalEffect for PassPlanning {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        match self.planner.plan(&self.request).await {
            Ok(passes) => StepOutcome::ok(json!(passes)),
            Err(error) => StepOutcome::failed(error),
        }
    }
}
