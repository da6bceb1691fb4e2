//! `run_puppet`, a function that only Tutti has.
//!
//! Invariant: a run needs the right of its owner to run Puppet, and has the options of the command that runs Puppet on
//! nodes.

mod options;
mod repeated;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, SourceLocation};
use jobs::{JobSpec, JobWork, NodeScope};
use pcore::Value;
use plans::StepWork;
use serde_json::{Value as Json, json};

use self::options::{PuppetRunOptions, RunMode};
use self::repeated::{run_in_passes, run_until_converged};
use super::action::{NodeResults, certnames, finish_action};
use super::action_options::PlanActionOptions;
use super::plan_function::PlanFunctionBody;
use super::targets;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet, TaskResult, UnknownResult};
use crate::preview::{PreviewBranch, PreviewedEffect};

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[(
    FunctionSpec::new(
        FUNCTION,
        &[
            FunctionDispatch::host(&[
                one("Boltlib::TargetSpec", "targets"),
                optional("Hash[String[1], Any]", "options"),
            ])
            .returning("ResultSet"),
            FunctionDispatch::host(&[
                one("Boltlib::TargetSpec", "targets"),
                one("String", "description"),
                optional("Hash[String[1], Any]", "options"),
            ])
            .returning("ResultSet"),
        ],
    ),
    run_puppet,
)];

const FUNCTION: &str = "run_puppet";

/// The `action` of results.
const ACTION: &str = "puppet";

fn run_puppet(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let place = call.location();
    let targets = targets::of(host, &place, call.get(0))?;
    let options = PlanActionOptions::of(host, &call, 1)?;
    let PuppetRunOptions {
        work,
        mode,
        mut shown,
    } = PuppetRunOptions::parse(&options)?;
    if targets.is_empty() {
        return Ok(Value::object(ResultSet::default()));
    }
    let place = &place;
    if let Some(preview) = &host.preview {
        let set = show(host, preview, place, (&targets, &options, shown))?;
        return finish_action(FUNCTION, ACTION, set, &options);
    }
    let mut job = JobSpec {
        limits: options.limits.clone(),
        description: options.description.clone(),
        ..JobSpec::new(
            JobWork::Puppet(work.clone()),
            NodeScope::Nodes(certnames(&targets)?),
        )
    };
    // here, because repeated runs make their steps without the host
    host.run.unwrapped.redact(&mut shown);
    host.run.unwrapped.redact_job(&mut job);
    let on = (targets, &options);
    match mode {
        RunMode::Once => run_once(host, place, on, (job, shown)),
        RunMode::UntilConverged(limits) => {
            run_until_converged(host, place, on, (job, limits, shown))
        }
        RunMode::InPasses(environment) => {
            run_in_passes(host, place, on, ((job, work), environment, shown))
        }
    }
}

/// Shows the run in a preview.
fn show(
    host: &PlanHost<'_>,
    preview: &PreviewBranch,
    place: &SourceLocation,
    (targets, options, shown): (&[PlanTarget], &PlanActionOptions, Json),
) -> EvalResult<ResultSet> {
    let effect = PreviewedEffect {
        function: FUNCTION,
        targets,
        parameters: shown,
        noop: options.noop,
        description: &options.description,
        ..PreviewedEffect::default()
    };
    let unknown = UnknownResult::of(preview.show_effect(host, place, &effect, false)?);
    let result =
        |target: &PlanTarget| TaskResult::unknown_of(target.clone(), ACTION, None, &unknown);
    Ok(ResultSet::new(targets.iter().map(result)))
}

fn run_once(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    (targets, options): (Vec<PlanTarget>, &PlanActionOptions),
    (job, shown): (JobSpec, Json),
) -> EvalResult {
    let names: Vec<String> = targets.iter().map(PlanTarget::safe_name).collect();
    let arguments = json!({"on": names, "do": shown});
    let outcome = host.step(ACTION, place, arguments, StepWork::Run(Box::new(job)))?;
    let Some(results) = outcome.value["results"].as_array() else {
        // The job engine refused the request.
        return Err(failure::unwind(plans::PlanFault::Failed(
            (*outcome.value).clone(),
        )));
    };
    let set = result_set(place, targets, results.iter().collect());
    finish_action(FUNCTION, ACTION, set, options)
}

fn result_set(place: &SourceLocation, targets: Vec<PlanTarget>, results: Vec<&Json>) -> ResultSet {
    let results = NodeResults {
        action: ACTION,
        object: ACTION,
        results,
    };
    results.to_set(place, targets, &|_, value| value)
}
