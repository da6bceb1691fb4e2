//! Functions that this server does not have. Each error gives the reason and an alternative.
//!
//! Invariant: the error is of kind `tutti/not-supported`, which plans may catch.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any};
use evaluator::{EvalResult, EvalUnwind, Evaluator};

use super::plan_function::PlanFunctionBody;
use crate::failure;
use crate::host::PlanHost;

const ANYTHING: &[FunctionDispatch] =
    &[FunctionDispatch::host(&[any("Any", "arguments")]).with_optional_block("")];

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new("run_container", ANYTHING),
        refuse_containers,
    ),
    (
        FunctionSpec::new("resolve_references", ANYTHING),
        refuse_plugins,
    ),
    (
        FunctionSpec::new("puppetdb_command", ANYTHING),
        refuse_commands,
    ),
];

/// Creates the error of a function that this server does not have.
pub(super) fn unsupported_error(name: &str, why: &str) -> Box<EvalUnwind> {
    failure::plain_error("tutti/not-supported", format!("{name}: {why}"))
}

fn refuse_containers(
    _: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    Err(unsupported_error(
        call.name,
        "the server runs no containers; run them on a node by a task",
    ))
}

fn refuse_plugins(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Err(unsupported_error(
        call.name,
        "the server has no plugins of Bolt's inventory",
    ))
}

fn refuse_commands(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Err(unsupported_error(
        call.name,
        "plans do not write to PuppetDB",
    ))
}
