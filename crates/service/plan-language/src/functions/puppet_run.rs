//! `run_puppet`, a function that only Tutti has.
//!
//! Invariant: a run needs the right of its owner to run Puppet, and has the options of the command that runs Puppet on
//! nodes.

use std::collections::BTreeMap;

use api_types::{ConvergenceLimits, DeployCommand};
use convergence::{
    ConvergenceOptions, ConvergenceRequest, ConvergenceState, NOT_CONVERGED, converge,
};
use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, SourceLocation};
use jobs::{JobSpec, JobWork, NodeScope, PuppetWork};
use pcore::{Hash, Value};
use plans::StepWork;
use serde_json::{Map, Value as Json, json};

use super::action::{NodeResults, certnames, finish_action};
use super::action_options::PlanActionOptions;
use super::plan_function::PlanFunctionBody;
use super::targets;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet, TaskResult, UnknownResult};
use crate::preview::{PreviewBranch, PreviewedEffect};
use crate::{failure, json as data};

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

/// The option for repeated runs: true, or a hash of limits.
const UNTIL_CONVERGED: &str = "until_converged";

/// The options that are passed to Puppet, beside the common ones, which begin with `_`.
const PUPPET_OPTIONS: [&str; 17] = [
    "environment",
    "enforce_environment",
    "barrier",
    "quarantine",
    "no_noop",
    "debug",
    "trace",
    "evaltrace",
    "use_cached_catalog",
    "usecacheonfailure",
    "filetimeout",
    "http_connect_timeout",
    "http_keepalive_timeout",
    "http_read_timeout",
    "ordering",
    "tags",
    "skip_tags",
];

fn run_puppet(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let place = call.location();
    let targets = targets::of(host, &place, call.get(0))?;
    let options = PlanActionOptions::of(host, &call, 1)?;
    let (run, convergence, shown) = parse_options(&options)?;
    if targets.is_empty() {
        return Ok(Value::object(ResultSet::default()));
    }
    let place = &place;
    if let Some(preview) = &host.preview {
        let set = show(host, preview, place, (&targets, &options, shown))?;
        return finish_action(FUNCTION, ACTION, set, &options);
    }
    let job = JobSpec {
        limits: options.limits.clone(),
        description: options.description.clone(),
        ..JobSpec::new(JobWork::Puppet(run), NodeScope::Nodes(certnames(&targets)?))
    };
    match convergence {
        None => run_once(host, place, (targets, &options), (job, shown)),
        Some(limits) => run_until_converged(host, place, (targets, &options), (job, limits, shown)),
    }
}

/// The runs, the limits of repeated ones, and the options as they are shown.
type ParsedOptions = (PuppetWork, Option<ConvergenceOptions>, Json);

fn parse_options(options: &PlanActionOptions) -> EvalResult<ParsedOptions> {
    let invalid = |what: String| failure::invalid_value_error(format!("{FUNCTION}: {what}"));
    let mut given = Map::new();
    for (name, value) in options.parameters.iter() {
        let name = name.to_string();
        if name != UNTIL_CONVERGED && !PUPPET_OPTIONS.contains(&name.as_str()) {
            return Err(invalid(format!(
                "there is no option '{name}'; there are {}, {UNTIL_CONVERGED}, and common ones such as _noop",
                PUPPET_OPTIONS.join(", ")
            )));
        }
        let (json, _) = data::to_json(value).map_err(|error| {
            invalid(format!("{name} is of type {}, which is not Data", error.ty))
        })?;
        if !json.is_null() {
            given.insert(name, json);
        }
    }
    let convergence = match given.remove(UNTIL_CONVERGED) {
        None | Some(Json::Bool(false)) => None,
        Some(Json::Bool(true)) => Some(ConvergenceLimits::default()),
        Some(limits) => {
            let limits: ConvergenceLimits = serde_json::from_value(limits)
                .map_err(|error| invalid(format!("{UNTIL_CONVERGED}: {error}")))?;
            limits.check().map_err(|error| invalid(error.body.msg))?;
            Some(limits)
        }
    };
    let mut shown = json!({"options": given, "noop": options.noop});
    if let Some(limits) = &convergence {
        shown[UNTIL_CONVERGED] = json!(limits);
    }
    let has_environment = given.contains_key("environment");
    given.entry("environment").or_insert_with(|| json!(""));
    if !has_environment {
        given.insert("enforce_environment".to_owned(), json!(false));
    }
    let mut command: DeployCommand =
        serde_json::from_value(Json::Object(given)).map_err(|error| invalid(error.to_string()))?;
    command.noop = options.noop;
    command.splay = options.limits.rollout.splay;
    if command.noop && command.no_noop {
        return Err(invalid("no_noop contradicts _noop".to_owned()));
    }
    if let Some(limits) = &convergence {
        let repeated = limits.check_repeated(&command);
        repeated.map_err(|what| invalid(format!("{UNTIL_CONVERGED} contradicts {what}")))?;
    }
    let mut run = PuppetWork::from_command(&command)
        .map_err(|error| invalid(format!("environment: {error}")))?;
    run.reports_reruns = convergence.is_some();
    Ok((
        run,
        convergence.as_ref().map(ConvergenceOptions::from),
        shown,
    ))
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

/// Repeats the runs. The results are those of the last run of each target.
fn run_until_converged(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    (targets, options): (Vec<PlanTarget>, &PlanActionOptions),
    (job, limits, shown): (JobSpec, ConvergenceOptions, Json),
) -> EvalResult {
    let request = ConvergenceRequest {
        job: &job,
        options: limits,
        imported_data: &host.run.world.imported_data,
        site: &place.to_string(),
        shown: &shown,
    };
    let mut last: BTreeMap<String, Json> = BTreeMap::new();
    let mut take_results = |results: &[Json]| {
        for result in results {
            if let Some(target) = result["target"].as_str() {
                last.insert(target.to_owned(), result.clone());
            }
        }
    };
    let outcome = converge(host.branch, &request, &mut take_results).map_err(failure::unwind)?;
    let set = result_set(place, targets, last.values().collect());
    if outcome.state == ConvergenceState::Converged || options.catch_errors {
        return Ok(Value::object(set));
    }
    let msg = format!("{FUNCTION}: {}", outcome.describe());
    let mut details = Hash::new();
    details.insert("convergence", Value::from_json(&json!(outcome)));
    details.insert("result_set", Value::object(set));
    Err(failure::bolt_error(NOT_CONVERGED, &msg, details))
}

fn result_set(place: &SourceLocation, targets: Vec<PlanTarget>, results: Vec<&Json>) -> ResultSet {
    let results = NodeResults {
        action: ACTION,
        object: ACTION,
        results,
    };
    results.to_set(place, targets, &|_, value| value)
}
