//! Functions that this server does not have: each says why, and what to do instead.
//!
//! Invariant: an error that plans may catch, `tutti/not-supported`.

use evaluator::function::{CallArguments, Dispatch, FunctionSpec, any};
use evaluator::{Eval, Evaluator, Unwind};

use super::Run;
use crate::failure;
use crate::host::PlanHost;

const ANYTHING: &[Dispatch] = &[Dispatch::host(&[any("Any", "arguments")]).with_optional_block("")];

pub(super) const FUNCTIONS: &[(FunctionSpec, Run)] = &[
    (FunctionSpec::new("apply_prep", ANYTHING), no_catalogs),
    (FunctionSpec::new("set_resources", ANYTHING), no_catalogs),
    (FunctionSpec::new("get_resources", ANYTHING), no_catalogs),
    (FunctionSpec::new("resource", ANYTHING), no_catalogs),
    (FunctionSpec::new("run_container", ANYTHING), no_containers),
    (
        FunctionSpec::new("resolve_references", ANYTHING),
        no_plugins,
    ),
    (FunctionSpec::new("puppetdb_command", ANYTHING), no_commands),
];

/// The error of a function that is not here.
pub(super) fn because(name: &str, why: &str) -> Box<Unwind> {
    failure::plain("tutti/not-supported", format!("{name}: {why}"))
}

fn no_catalogs(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let why = "this server compiles no catalogs yet; put the resources into a class and run Puppet on the \
               targets instead";
    Err(because(call.name, why))
}

fn no_containers(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    Err(because(
        call.name,
        "the server runs no containers; run them on a node by a task",
    ))
}

fn no_plugins(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    Err(because(
        call.name,
        "the server has no plugins of Bolt's inventory",
    ))
}

fn no_commands(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    Err(because(call.name, "plans do not write to PuppetDB"))
}
