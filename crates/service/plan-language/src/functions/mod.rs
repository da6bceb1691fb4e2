//! The plan functions by name, and the methods of the objects that they return. Main functions:
//! [`find`], [`method`].
//!
//! Each family of functions has a file. Invariant: a function takes the arguments of Bolt's
//! function and fails as it does, and everything that it reads or does is a step.

mod action;
mod action_options;
mod apply;
mod apply_catalogs;
mod apply_prep;
mod apply_report;
mod availability;
mod construct;
mod control;
mod docs;
mod files;
mod messages;
mod new_target;
mod parallel;
mod plan;
mod plan_function;
mod prompts;
mod puppet_run;
mod puppetdb;
mod resources;
mod target_state;
mod targets;
mod task;
mod task_refusals;
mod transfer;
mod unsupported;

use std::collections::HashMap;
use std::sync::OnceLock;

use evaluator::function::{FunctionDoc, FunctionSpec, NativeFunction};
use evaluator::{CodeBlock, EvalResult, Evaluator};
use pcore::Value;

pub(crate) use self::action::{PlanAction, finish_action};
pub(crate) use self::action_options::PlanActionOptions;
pub(crate) use self::apply::{ApplyStatements, apply, apply_statements, finish_apply};
pub(crate) use self::apply_prep::prepare_targets;
pub(crate) use self::construct::construct;
pub(crate) use self::messages::log;
pub(crate) use self::parallel::await_all;
pub(crate) use self::plan::run_named_plan;
pub(crate) use self::plan_function::PlanFunctionBody;
use self::plan_function::{PlanFunction, PlanFunctionGroup};
pub(crate) use self::targets::of as targets_of;
pub(crate) use self::task_refusals::refused_task_error;
use crate::host::PlanHost;
use crate::objects::{PlanFuture, PlanTarget, ResultSet};

const FAMILIES: &[PlanFunctionGroup] = &[
    prompts::FUNCTIONS,
    apply_prep::FUNCTIONS,
    availability::FUNCTIONS,
    parallel::FUNCTIONS,
    control::FUNCTIONS,
    files::FUNCTIONS,
    plan::FUNCTIONS,
    puppet_run::FUNCTIONS,
    puppetdb::FUNCTIONS,
    resources::FUNCTIONS,
    target_state::FUNCTIONS,
    targets::FUNCTIONS,
    task::FUNCTIONS,
    messages::FUNCTIONS,
    transfer::FUNCTIONS,
    unsupported::FUNCTIONS,
];

fn registry() -> &'static HashMap<&'static str, PlanFunction> {
    static REGISTRY: OnceLock<HashMap<&'static str, PlanFunction>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let all = FAMILIES.iter().flat_map(|family| family.iter());
        all.map(|(function, run)| {
            let native = NativeFunction::new(*function);
            (function.name, PlanFunction { native, run: *run })
        })
        .collect()
    })
}

/// The functions that only plans have.
pub fn function_specs() -> impl Iterator<Item = &'static FunctionSpec> {
    FAMILIES.iter().copied().flatten().map(|(spec, _)| spec)
}

/// The documentation of [`function_specs`], in alphabetical order.
#[must_use]
pub fn function_docs() -> &'static [FunctionDoc] {
    docs::DOCS
}

/// Returns the plan function of a name.
pub(crate) fn find(name: &str) -> Option<&'static PlanFunction> {
    registry().get(name)
}

/// Returns the names of all plan functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied()
}

/// Calls a method that needs more than the object itself; `None` if there is no such method.
pub(crate) fn method(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    receiver: &Value,
    name: &str,
    arguments: &[Value],
    block: Option<&CodeBlock>,
) -> Option<EvalResult> {
    if let Some(target) = receiver.downcast_object::<PlanTarget>() {
        return arguments
            .is_empty()
            .then(|| target_state::attribute(host, target, name).map(Ok))
            .flatten();
    }
    if let Some(future) = receiver.downcast_object::<PlanFuture>() {
        return (name == "state").then(|| parallel::future_state(host, future));
    }
    let set = receiver.downcast_object::<ResultSet>()?;
    match (name, block) {
        ("filter_set", Some(block)) => Some(filter_set(evaluator, set, block)),
        _ => None,
    }
}

fn filter_set(evaluator: &mut Evaluator<'_>, set: &ResultSet, block: &CodeBlock) -> EvalResult {
    let mut keep = Vec::with_capacity(set.results().len());
    for result in set.results() {
        let kept = evaluator.call_block(block, [ResultSet::result_value(result)])?;
        if kept.has_unknown()
            && let Some(unknowns) = evaluator.host().unknowns()
        {
            unknowns.depends_on(std::slice::from_ref(&kept));
        }
        keep.push(kept.is_truthy());
    }
    Ok(Value::object(set.filtered_by_mask(&keep)))
}
