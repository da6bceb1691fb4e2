//! Runs of Puppet that are repeated until the targets have converged, or made in passes.
//!
//! Invariant: the results are those of the last run of each target.

use std::collections::BTreeMap;

use api_types::multi_pass::PASSES_FAILED;
use convergence::passes::{MultiPassState, PassRequest, plan_passes, run_passes};
use convergence::{
    ConvergenceOptions, ConvergenceRequest, ConvergenceState, NOT_CONVERGED, converge,
};
use environments::EnvironmentName;
use evaluator::{EvalResult, EvalUnwind, SourceLocation};
use jobs::{JobSpec, PuppetWork};
use pcore::{Hash, Value};
use serde_json::{Value as Json, json};

use super::super::action::certnames;
use super::{FUNCTION, PlanActionOptions, result_set};
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet};

/// The last result of each node.
#[derive(Default)]
struct LastResults(BTreeMap<String, Json>);

// === impl LastResults ===

impl LastResults {
    fn take(&mut self, results: &[Json]) {
        for result in results {
            if let Some(target) = result["target"].as_str() {
                self.0.insert(target.to_owned(), result.clone());
            }
        }
    }

    fn to_set(&self, place: &SourceLocation, targets: Vec<PlanTarget>) -> ResultSet {
        result_set(place, targets, self.0.values().collect())
    }
}

/// Runs Puppet on the targets again and again until they have converged.
pub(super) fn run_until_converged(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    (targets, options): (Vec<PlanTarget>, &PlanActionOptions),
    (job, limits, shown): (JobSpec, ConvergenceOptions, Json),
) -> EvalResult {
    let request = ConvergenceRequest {
        job: &job,
        options: limits,
        imported_data: &host.run.world.imported_data,
        reruns: &host.run.world.reruns,
        site: &place.to_string(),
        shown: &shown,
    };
    let mut last = LastResults::default();
    let mut take_results = |results: &[Json]| last.take(results);
    let outcome = converge(host.branch, &request, &mut take_results).map_err(failure::unwind)?;
    let set = last.to_set(place, targets);
    if outcome.state == ConvergenceState::Converged || options.catch_errors {
        return Ok(Value::object(set));
    }
    let msg = format!("{FUNCTION}: {}", outcome.describe());
    let details = ("convergence", json!(outcome));
    Err(repetition_error((NOT_CONVERGED, &msg), details, set))
}

/// Runs the targets in passes, which are planned first.
pub(super) fn run_in_passes(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    (targets, options): (Vec<PlanTarget>, &PlanActionOptions),
    ((job, work), environment, shown): ((JobSpec, PuppetWork), EnvironmentName, Json),
) -> EvalResult {
    let site = place.to_string();
    let request = PassRequest {
        nodes: certnames(&targets)?,
        environment,
        owner_id: host.run.owner().id,
    };
    let planning = (&host.run.world.pass_planner, request);
    let passes = plan_passes(host.branch, planning, &shown, &site).map_err(failure::unwind)?;
    let mut last = LastResults::default();
    let mut take_results = |results: &[Json]| last.take(results);
    let outcome = run_passes(host.branch, (&job, &work), passes, &site, &mut take_results);
    let outcome = outcome.map_err(failure::unwind)?;
    let set = last.to_set(place, targets);
    if outcome.state == MultiPassState::Succeeded || options.catch_errors {
        return Ok(Value::object(set));
    }
    let msg = format!("{FUNCTION}: {}", outcome.describe());
    let details = ("multi_pass", json!(outcome));
    Err(repetition_error((PASSES_FAILED, &msg), details, set))
}

fn repetition_error(
    (kind, msg): (&str, &str),
    (name, outcome): (&str, Json),
    set: ResultSet,
) -> Box<EvalUnwind> {
    let mut details = Hash::new();
    details.insert(name, Value::from_json(&outcome));
    details.insert("result_set", Value::object(set));
    failure::bolt_error(kind, msg, details)
}
