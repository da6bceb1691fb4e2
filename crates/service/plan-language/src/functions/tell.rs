//! `out::message`, `out::verbose` and `log::*`: events of the plan job. Main function: [`log`].
//!
//! Invariant: what a plan says is said once, also when it is evaluated again.

use evaluator::function::{CallArguments, Dispatch, FunctionSpec, one};
use evaluator::{Eval, Evaluator, SourceLocation};
use pcore::{Type, Value};
use serde_json::{Map, json};

use super::Run;
use crate::host::PlanHost;
use crate::json;

const MESSAGE: &[Dispatch] = &[Dispatch::host(&[one("Any", "message")]).returning("Undef")];

pub(super) const FUNCTIONS: &[(FunctionSpec, Run)] = &[
    (FunctionSpec::new("out::message", MESSAGE), out),
    (FunctionSpec::new("out::verbose", MESSAGE), out),
    (FunctionSpec::new("log::trace", MESSAGE), logged),
    (FunctionSpec::new("log::debug", MESSAGE), logged),
    (FunctionSpec::new("log::info", MESSAGE), logged),
    (FunctionSpec::new("log::warn", MESSAGE), logged),
    (FunctionSpec::new("log::error", MESSAGE), logged),
    (FunctionSpec::new("log::fatal", MESSAGE), logged),
];

fn out(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let kind = match call.name {
        "out::verbose" => "out_verbose",
        _ => "out_message",
    };
    host.tell(kind, &call.place(), &text(call.get(0)), Map::new())?;
    Ok(Value::Undef)
}

fn logged(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let level = call.name.trim_start_matches("log::");
    log(host, level, &text(call.get(0)), &call.place())?;
    Ok(Value::Undef)
}

/// A line of the plan's log.
pub(crate) fn log(
    host: &PlanHost<'_>,
    level: &str,
    message: &str,
    place: &SourceLocation,
) -> Eval<()> {
    let details = [("level".to_owned(), json!(level))].into_iter().collect();
    host.tell("log", place, message, details)
}

/// Texts as they are, everything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        unknown if unknown.is_unknown() => unknown.to_string(),
        error if Type::error().is_instance(error) => error.to_string(),
        Value::Array(_) | Value::Hash(_) | Value::Object(_) => match json::shown(value) {
            serde_json::Value::String(text) => text,
            shown => serde_json::to_string_pretty(&shown).unwrap_or_default(),
        },
        other => other.to_string(),
    }
}
