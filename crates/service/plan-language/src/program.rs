//! Plans as programs of the engine. Main type: [`PuppetPlans`].
//!
//! Invariant: making a program reads nothing; all that it needs it asks for in steps.

use std::rc::Rc;
use std::sync::Arc;

use evaluator::{Eval, Evaluator, Host as _, Unwind};
use pcore::{Hash, Type, Value};
use plans::{Branch, Ended, Fault, Launch, Program, Programs};
use serde_json::Value as Json;

use crate::host::PlanHost;
use crate::run::Run;
use crate::world::World;
use crate::{failure, functions, json, preview, types};

/// All plans of all environments.
#[derive(Clone, Debug)]
pub struct PuppetPlans {
    world: World,
}

/// A plan that was launched.
struct PuppetPlan {
    world: World,
    launch: Launch,
}

impl PuppetPlans {
    pub fn new(world: World) -> Self {
        Self { world }
    }
}

impl Programs for PuppetPlans {
    fn program(&self, launch: &Launch) -> Result<Arc<dyn Program>, Fault> {
        Ok(Arc::new(PuppetPlan {
            world: self.world.clone(),
            launch: launch.clone(),
        }))
    }
}

impl Program for PuppetPlan {
    fn run(&self, branch: &mut Branch<'_>) -> Ended {
        let run = Rc::new(Run::new(self.world.clone(), self.launch.clone()));
        let host = PlanHost::new(branch, &run, run.begin());
        let parsed = Arc::clone(&self.world.parsed);
        let mut evaluator = Evaluator::new(&host, host.limits(), parsed);
        let mut given = evaluate(&host, &mut evaluator, &self.launch);
        if let Some(preview) = &host.preview {
            given = preview::ended(&host, preview, given);
        }
        match given {
            Ok(mut value) => {
                run.unwrapped.redact(&mut value);
                Ok(value)
            }
            Err(unwind) => Err(match failure::fault(*unwind) {
                Fault::Failed(mut error) => {
                    run.unwrapped.redact(&mut error);
                    Fault::Failed(error)
                }
                stop @ Fault::Stop(_) => stop,
            }),
        }
    }
}

fn evaluate(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    launch: &Launch,
) -> Result<Json, Box<Unwind>> {
    let arguments: Hash = launch
        .params
        .iter()
        .map(|(name, value)| (name.as_str(), Value::from_json(value)))
        .collect();
    let value = functions::run_named_plan(host, evaluator, &launch.plan, arguments, true)?;
    functions::await_all(host)?;
    as_result(host, &value)
}

/// The value of a plan, as it is stored.
fn as_result(host: &PlanHost<'_>, value: &Value) -> Eval<Json> {
    let invalid = |what: String| {
        let msg = format!(
            "Plan {} returned an invalid result: {what}",
            host.run.launch.plan
        );
        failure::plain("bolt/invalid-plan-result", msg)
    };
    let given = host.named_type("PlanResult").unwrap_or_else(types::target);
    if !given.is_instance(value) {
        let ty = Type::infer(value).generalize();
        return Err(invalid(format!("a value of type {ty} cannot be given")));
    }
    json::result(value).map_err(|error| {
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
