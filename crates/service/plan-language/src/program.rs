//! Plans as programs of the plan engine. Main type: [`PuppetPlans`].
//!
//! Invariant: creating a program reads nothing; all its input is read by steps.

use std::rc::Rc;
use std::sync::Arc;

use evaluator::{EvalResult, EvalUnwind, EvaluationHost as _, Evaluator};
use pcore::{Hash, Type, Value};
use plans::{BranchResult, PlanBranch, PlanFault, PlanLaunch, PlanProgram, PlanProgramSource};
use serde_json::Value as Json;

use crate::host::PlanHost;
use crate::run::PlanEvaluation;
use crate::world::PlanServices;
use crate::{failure, functions, json, preview, types};

/// Source of the programs of all plans in all environments.
#[derive(Clone, Debug)]
pub struct PuppetPlans {
    world: PlanServices,
}

/// The program of a launched plan.
struct PuppetPlan {
    world: PlanServices,
    launch: PlanLaunch,
}

impl PuppetPlans {
    pub fn new(world: PlanServices) -> Self {
        Self { world }
    }
}

impl PlanProgramSource for PuppetPlans {
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> {
        Ok(Arc::new(PuppetPlan {
            world: self.world.clone(),
            launch: launch.clone(),
        }))
    }
}

impl PlanProgram for PuppetPlan {
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult {
        let run = Rc::new(PlanEvaluation::new(self.world.clone(), self.launch.clone()));
        let host = PlanHost::new(branch, &run, run.begin_plan());
        let parsed = Arc::clone(&self.world.parsed);
        let mut evaluator = Evaluator::new(&host, host.limits(), parsed);
        let mut given = evaluate(&host, &mut evaluator, &self.launch);
        if let Some(preview) = &host.preview {
            given = preview::finish_preview(&host, preview, given);
        }
        match given {
            Ok(mut value) => {
                run.unwrapped.redact(&mut value);
                Ok(value)
            }
            Err(unwind) => Err(match failure::to_plan_fault(*unwind) {
                PlanFault::Failed(mut error) => {
                    run.unwrapped.redact(&mut error);
                    PlanFault::Failed(error)
                }
                stop @ PlanFault::Stop(_) => stop,
            }),
        }
    }
}

fn evaluate(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    launch: &PlanLaunch,
) -> Result<Json, Box<EvalUnwind>> {
    let arguments: Hash = launch
        .params
        .iter()
        .map(|(name, value)| (name.as_str(), Value::from_json(value)))
        .collect();
    let value = functions::run_named_plan(host, evaluator, &launch.plan, arguments, true)?;
    functions::await_all(host)?;
    as_result(host, &value)
}

/// Converts the value that a plan returned to the stored result.
fn as_result(host: &PlanHost<'_>, value: &Value) -> EvalResult<Json> {
    let invalid = |what: String| {
        let msg = format!(
            "Plan {} returned an invalid result: {what}",
            host.run.launch.plan
        );
        failure::plain_error("bolt/invalid-plan-result", msg)
    };
    let given = host.named_type("PlanResult").unwrap_or_else(types::target);
    if !given.is_instance(value) {
        let ty = Type::infer(value).generalize();
        return Err(invalid(format!("a value of type {ty} cannot be given")));
    }
    json::to_result_json(value).map_err(|error| {
        invalid(format!(
            "what stands at {} is of type {}",
            if error.path.is_empty() {
                "its top"
            } else {
                &error.path
            },
            error.ty
        ))
    })
}
