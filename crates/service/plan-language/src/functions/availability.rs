//! `wait_until_available`.
//!
//! Invariant: the plan sleeps between two checks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator};
use pcore::{Hash, Value};
use plans::{LocalEffect, StepOutcome, StepWork};
use serde_json::{Value as Json, json};

use super::action::{certnames, finish_action};
use super::action_options::{PlanActionOptions, parse_seconds};
use super::control::pause_branch;
use super::plan_function::PlanFunctionBody;
use super::targets;
use crate::defaults::{AVAILABLE_RETRY, AVAILABLE_WAIT};
use crate::error_object::error_object;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet, TaskResult};
use crate::preview::PreviewedEffect;
use crate::world::NodeQueries;

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[(
    FunctionSpec::new(
        "wait_until_available",
        &[FunctionDispatch::host(&[
            one("Boltlib::TargetSpec", "targets"),
            optional("Hash[String[1], Any]", "options"),
        ])
        .returning("ResultSet")],
    ),
    wait_until_available,
)];

const ACTION: &str = "wait_until_available";

fn wait_until_available(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let place = call.location();
    let targets = targets::of(host, &place, call.get(0))?;
    let options = PlanActionOptions::of(host, &call, 1)?;
    let time = |name: &str, or: Duration| match options.parameters.get_str(name) {
        None | Some(Value::Undef) => Ok(or),
        Some(value) => parse_seconds(name, value),
    };
    let wait = time("wait_time", AVAILABLE_WAIT)?;
    // The minimum prevents checks without a pause, which would keep the server busy.
    let retry = time("retry_interval", AVAILABLE_RETRY)?.max(AVAILABLE_RETRY);
    if let Some(preview) = &host.preview {
        let effect = PreviewedEffect {
            function: ACTION,
            targets: &targets,
            parameters: json!({"wait_time": wait.as_secs_f64()}),
            description: &options.description,
            ..PreviewedEffect::default()
        };
        preview.show_effect(host, &place, &effect, false)?;
        let made = |target| TaskResult::from_hash(target, ACTION, None, Hash::new());
        let set = ResultSet::new(targets.into_iter().map(made));
        return finish_action(ACTION, ACTION, set, &options);
    }
    let mut waited = Duration::ZERO;
    let mut away = unavailable_results(host, &call, targets.clone())?;
    while !away.is_empty() && waited < wait {
        let pause = retry.min(wait - waited);
        pause_branch(host, &place, pause)?;
        waited += pause;
        away = unavailable_results(host, &call, away)?;
    }
    let set = ResultSet::new(targets.into_iter().map(|target| {
        match away.iter().any(|it| it.name() == target.name()) {
            false => TaskResult::from_hash(target, ACTION, None, Hash::new()),
            true => {
                let error = error_object(
                    "puppetlabs.tasks/connect-error",
                    "Timed out waiting for target",
                    Hash::new(),
                    Some("CONNECT_ERROR"),
                );
                TaskResult::failed(target, ACTION, None, error)
            }
        }
    }));
    finish_action(ACTION, ACTION, set, &options)
}

/// Returns the targets that are not reachable now; a step.
fn unavailable_results(
    host: &PlanHost<'_>,
    call: &CallArguments<'_>,
    targets: Vec<PlanTarget>,
) -> EvalResult<Vec<PlanTarget>> {
    if targets.is_empty() {
        return Ok(targets);
    }
    let certnames = certnames(&targets)?;
    let certnames: Vec<String> = certnames.iter().map(ToString::to_string).collect();
    let arguments = json!(certnames);
    let nodes = Arc::clone(&host.run.world.nodes);
    let work = StepWork::RunLocalEffect(Arc::new(AvailabilityQuery { nodes, certnames }));
    let outcome = host.step("available", &call.location(), arguments, work)?;
    let there = outcome.value.as_array().cloned().unwrap_or_default();
    let pairs = targets.into_iter().zip(there);
    Ok(pairs
        .filter(|(_, there)| *there != json!(true))
        .map(|(target, _)| target)
        .collect())
}

struct AvailabilityQuery {
    nodes: Arc<dyn NodeQueries>,
    certnames: Vec<String>,
}

#[async_trait]
impl LocalEffect for AvailabilityQuery {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        let there = self.nodes.available(&self.certnames).await;
        StepOutcome::ok(Json::from(there))
    }
}
