//! The call of a plan function in a preview. Main function: [`call`].
//!
//! Invariant: a reading function with an unknown argument returns an unknown value. If a function
//! changes the plan's state or fails because of an unknown argument, everything after it depends on
//! that argument.

use evaluator::function::CallArguments;
use evaluator::{EvalResult, EvalUnwind, Evaluator};
use pcore::Value;

use super::branch::{PreviewBranch, UnknownArguments};
use crate::functions::PlanFunctionBody;
use crate::host::PlanHost;

/// Functions that only return information.
const READ: &[&str] = &[
    "dir::children",
    "facts",
    "file::exists",
    "file::join",
    "file::read",
    "file::readable",
    "get_target",
    "get_targets",
    "puppetdb_fact",
    "puppetdb_query",
    "system::env",
    "vars",
];

/// Functions that change state which later calls read.
const CHANGE: &[&str] = &[
    "add_to_group",
    "remove_from_group",
    "set_config",
    "set_feature",
];

/// Functions that store their last argument without inspecting it, so only the other arguments
/// count.
const KEEP: &[&str] = &["add_facts", "set_var"];

pub(crate) fn call(
    host: &PlanHost<'_>,
    preview: &PreviewBranch,
    run: PlanFunctionBody,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let given = UnknownArguments::of(&call.arguments);
    if !given.steps.is_empty() {
        if READ.contains(&call.name) {
            return Ok(host.unknown(&call.arguments, None));
        }
        let others = call
            .arguments
            .split_last()
            .map_or(&[][..], |(_, others)| others);
        let decides = CHANGE.contains(&call.name)
            || KEEP.contains(&call.name) && others.iter().any(Value::has_unknown);
        if decides {
            host.decide(&given.steps);
        }
    }
    let outer = preview.unknown_arguments.replace(given);
    let result = run(host, evaluator, call);
    let given = preview.unknown_arguments.replace(outer);
    if let Err(unwind) = &result
        && matches!(**unwind, EvalUnwind::Error(_))
        && !given.steps.is_empty()
    {
        host.decide(&given.steps);
    }
    result
}
