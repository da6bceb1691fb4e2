//! `wait_until_available`.
//!
//! Invariant: between two looks the plan sleeps, so waiting costs nothing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use evaluator::function::{CallArguments, Dispatch, FunctionSpec, one, optional};
use evaluator::{Eval, Evaluator};
use pcore::{Hash, Value};
use plans::{Deed, Outcome, Work};
use serde_json::{Value as Json, json};

use super::action::{certnames, settle};
use super::options::{Options, seconds};
use super::{Run, targets};
use crate::defaults::{AVAILABLE_RETRY, AVAILABLE_WAIT};
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{ResultSet, Target, TaskResult};
use crate::preview::Effect;
use crate::world::Nodes;

pub(super) const FUNCTIONS: &[(FunctionSpec, Run)] = &[(
    FunctionSpec::new(
        "wait_until_available",
        &[Dispatch::host(&[
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
) -> Eval {
    let place = call.place();
    let targets = targets::of(host, &place, call.get(0))?;
    let options = Options::of(host, &call, 1)?;
    let time = |name: &str, or: Duration| match options.parameters.get_str(name) {
        None | Some(Value::Undef) => Ok(or),
        Some(value) => seconds(name, value),
    };
    let wait = time("wait_time", AVAILABLE_WAIT)?;
    // Looking without a pause would be all that the server does.
    let retry = time("retry_interval", AVAILABLE_RETRY)?.max(AVAILABLE_RETRY);
    if let Some(preview) = &host.preview {
        let effect = Effect {
            function: ACTION,
            targets: &targets,
            parameters: json!({"wait_time": wait.as_secs_f64()}),
            description: &options.description,
            ..Effect::default()
        };
        preview.show(host, &place, &effect, false)?;
        let made = |target| TaskResult::made(target, ACTION, None, Hash::new());
        let set = ResultSet::new(targets.into_iter().map(made));
        return settle(ACTION, ACTION, set, &options);
    }
    let mut waited = Duration::ZERO;
    let mut away = missing(host, &call, targets.clone())?;
    while !away.is_empty() && waited < wait {
        let pause = retry.min(wait - waited);
        host.sleep(&place, pause)?;
        waited += pause;
        away = missing(host, &call, away)?;
    }
    let set = ResultSet::new(targets.into_iter().map(|target| {
        match away.iter().any(|it| it.name() == target.name()) {
            false => TaskResult::made(target, ACTION, None, Hash::new()),
            true => {
                let error = failure::error(
                    "puppetlabs.tasks/connect-error",
                    "Timed out waiting for target",
                    Hash::new(),
                    Some("CONNECT_ERROR"),
                );
                TaskResult::failed(target, ACTION, None, error)
            }
        }
    }));
    settle(ACTION, ACTION, set, &options)
}

/// Those that cannot be reached now; a step.
fn missing(
    host: &PlanHost<'_>,
    call: &CallArguments<'_>,
    targets: Vec<Target>,
) -> Eval<Vec<Target>> {
    if targets.is_empty() {
        return Ok(targets);
    }
    let certnames = certnames(&targets)?;
    let certnames: Vec<String> = certnames.iter().map(ToString::to_string).collect();
    let arguments = json!(certnames);
    let nodes = Arc::clone(&host.run.world.nodes);
    let work = Work::Do(Arc::new(Looking { nodes, certnames }));
    let outcome = host.step("available", &call.place(), arguments, work)?;
    let there = outcome.value.as_array().cloned().unwrap_or_default();
    let pairs = targets.into_iter().zip(there);
    Ok(pairs
        .filter(|(_, there)| *there != json!(true))
        .map(|(target, _)| target)
        .collect())
}

struct Looking {
    nodes: Arc<dyn Nodes>,
    certnames: Vec<String>,
}

#[async_trait]
impl Deed for Looking {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn act(&self) -> Outcome {
        let there = self.nodes.available(&self.certnames).await;
        Outcome::ok(Json::from(there))
    }
}
