//! `out::message`, `out::verbose` and `log::*`: events of the plan job. Main function: [`log`].
//!
//! Invariant: a message is recorded once, even if the plan is evaluated again.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, SourceLocation};
use pcore::{Type, Value};
use serde_json::{Map, json};

use super::plan_function::PlanFunctionBody;
use crate::host::PlanHost;
use crate::json;

const MESSAGE: &[FunctionDispatch] =
    &[FunctionDispatch::host(&[one("Any", "message")]).returning("Undef")];

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (FunctionSpec::new("out::message", MESSAGE), out_message),
    (FunctionSpec::new("out::verbose", MESSAGE), out_message),
    (FunctionSpec::new("log::trace", MESSAGE), log_at_level),
    (FunctionSpec::new("log::debug", MESSAGE), log_at_level),
    (FunctionSpec::new("log::info", MESSAGE), log_at_level),
    (FunctionSpec::new("log::warn", MESSAGE), log_at_level),
    (FunctionSpec::new("log::error", MESSAGE), log_at_level),
    (FunctionSpec::new("log::fatal", MESSAGE), log_at_level),
];

fn out_message(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let kind = match call.name {
        "out::verbose" => "out_verbose",
        _ => "out_message",
    };
    host.record_event(
        kind,
        &call.location(),
        &message_text(call.get(0)),
        Map::new(),
    )?;
    Ok(Value::Undef)
}

fn log_at_level(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let level = call.name.trim_start_matches("log::");
    log(host, level, &message_text(call.get(0)), &call.location())?;
    Ok(Value::Undef)
}

/// Records a line of the plan's log.
pub(crate) fn log(
    host: &PlanHost<'_>,
    level: &str,
    message: &str,
    place: &SourceLocation,
) -> EvalResult<()> {
    let details = [("level".to_owned(), json!(level))].into_iter().collect();
    host.record_event("log", place, message, details)
}

/// Converts a value to the text of a message: strings unchanged, collections as JSON.
fn message_text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        unknown if unknown.is_unknown() => unknown.to_string(),
        error if Type::error().is_instance(error) => error.to_string(),
        Value::Array(_) | Value::Hash(_) | Value::Object(_) => match json::to_display_json(value) {
            serde_json::Value::String(text) => text,
            shown => serde_json::to_string_pretty(&shown).unwrap_or_default(),
        },
        other => other.to_string(),
    }
}
