//! `apply_prep`: the facts of targets from their Puppet, which must be there. Main function:
//! [`prepare_targets`].
//!
//! Invariant: a target that succeeded has facts and the feature `puppet-agent`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, SourceLocation};
use jobs::{TaskPlugins, TaskPurpose};
use serde_json::{Map, Value as Json, json};

use super::action::{PlanAction, finish_action};
use super::action_options::PlanActionOptions;
use super::plan_function::PlanFunctionBody;
use super::{apply_report, target_state, targets};
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet};

/// The task that gathers facts with the node's Puppet.
const TASK: &str = "apply_helpers::custom_facts";

/// The feature of targets that have Puppet.
const PUPPET_AGENT: &str = "puppet-agent";

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[(
    FunctionSpec::new(
        "apply_prep",
        &[FunctionDispatch::host(&[
            one("Boltlib::TargetSpec", "targets"),
            optional("Hash[String, Any]", "options"),
        ])
        .returning("ResultSet")],
    ),
    apply_prep,
)];

fn apply_prep(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let place = call.location();
    let targets = targets::of(host, &place, call.get(0))?;
    let options = PlanActionOptions::of(host, &call, 1)?;
    let set = prepare_targets(host, &place, targets, &options)?;
    finish_action("apply_prep", TASK, set, &options)
}

/// Gathers the facts of targets and adds them to those that the plan has.
pub(crate) fn prepare_targets(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    targets: Vec<PlanTarget>,
    options: &PlanActionOptions,
) -> EvalResult<ResultSet> {
    let action = PlanAction {
        name: "apply_prep",
        function: "apply_prep",
        object: TASK,
        native: None,
        task: TASK,
        purpose: TaskPurpose::ApplyPrep,
        plugins: TaskPlugins::Facts {
            modules: options.required_modules.clone(),
        },
        params: Map::new(),
        node_params: None,
        sensitive: Vec::new(),
        shown: json!({}),
        convert: &facts_of,
    };
    let set = action.results(host, place, targets, options)?;
    for result in set.results().iter().filter(|result| result.is_ok()) {
        let facts = result.facts();
        target_state::change_of(host, result.target(), |state| {
            target_state::merge(&mut state.facts, &facts);
            state.features.insert(PUPPET_AGENT.into());
        });
    }
    Ok(set)
}

/// The facts that a node printed, or an error.
fn facts_of(_: &PlanTarget, told: Json) -> Json {
    let Some(error) = told.get("_error") else {
        return match told.get("_output") {
            None => told,
            Some(_) => json!({"_error": {
                "kind": "bolt/apply-error",
                "msg": "the node printed something else than facts",
                "details": {},
            }}),
        };
    };
    json!({"_error": apply_report::own_error(error.clone())})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_an_object_or_an_error() {
        let target = PlanTarget::new("a");
        let facts = json!({"os": {"family": "Debian"}});
        assert_eq!(facts_of(&target, facts.clone()), facts);
        for bad in [
            json!({"_output": "hello"}),
            json!({"_error": {"msg": "no", "details": {"exit_code": 126}}}),
        ] {
            assert_eq!(facts_of(&target, bad)["_error"]["kind"], "bolt/apply-error");
        }
    }
}
