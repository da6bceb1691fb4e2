//! `out::message`, `out::verbose` and `log::*`: events of the plan job. Main function: [`log`].
//!
//! The rule that must hold: what a plan says is said once, also when it is evaluated again.

use evaluator::function::{Call, Form, Function, one};
use evaluator::{Eval, Evaluator, Place};
use pcore::{Type, Value};
use serde_json::{Map, json};

use super::Run;
use crate::host::PlanHost;
use crate::json;

const MESSAGE: &[Form] = &[Form::host(&[one("Any", "message")]).returning("Undef")];

pub(super) const FUNCTIONS: &[(Function, Run)] = &[
    (Function::new("out::message", MESSAGE), out),
    (Function::new("out::verbose", MESSAGE), out),
    (Function::new("log::trace", MESSAGE), logged),
    (Function::new("log::debug", MESSAGE), logged),
    (Function::new("log::info", MESSAGE), logged),
    (Function::new("log::warn", MESSAGE), logged),
    (Function::new("log::error", MESSAGE), logged),
    (Function::new("log::fatal", MESSAGE), logged),
];

fn out(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let kind = match call.name {
        "out::verbose" => "out_verbose",
        _ => "out_message",
    };
    host.tell(kind, &call.place(), &text(call.get(0)), Map::new())?;
    Ok(Value::Undef)
}

fn logged(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let level = call.name.trim_start_matches("log::");
    log(host, level, &text(call.get(0)), &call.place())?;
    Ok(Value::Undef)
}

/// A line of the plan's log.
pub(crate) fn log(host: &PlanHost<'_>, level: &str, message: &str, place: &Place) -> Eval<()> {
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
