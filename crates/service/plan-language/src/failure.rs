//! Conversion of errors between steps, the language and the plan's result. Main functions:
//! [`bolt_error`], [`unwind`] and [`to_plan_fault`].
//!
//! Invariant: an interruption passes unchanged, and an error that a plan may catch carries its
//! `Error` object as payload.

use evaluator::{EvalError, EvalUnwind, HostInterrupt, SourceLocation};
use pcore::{Hash, Value};
use plans::{PlanFault, PlanStop};
use serde_json::{Map, Value as Json, json};

use crate::error_object::{error_attribute, error_from_json, error_object};
use crate::json;

/// The kind of errors that no plan function raised, such as mistakes in the plan's code.
const EVALUATION: &str = "bolt/pal-error";

/// Prefixes of messages of failed functions; Bolt shows the messages without them.
const WRAPPERS: [&str; 2] = [
    "Evaluation Error: Error while evaluating a Function Call, ",
    "Evaluation Error: Error while evaluating a Method call, ",
];

/// Creates an error that `catch_errors` catches.
pub(crate) fn bolt_error(kind: &str, msg: &str, details: Hash) -> Box<EvalUnwind> {
    raise(error_object(kind, msg, details, None))
}

/// Creates an error that `catch_errors` catches, without details.
pub(crate) fn plain_error(kind: &str, msg: impl AsRef<str>) -> Box<EvalUnwind> {
    bolt_error(kind, msg.as_ref(), Hash::new())
}

/// Creates the error of invalid arguments.
pub(crate) fn invalid_value_error(msg: impl AsRef<str>) -> Box<EvalUnwind> {
    plain_error("bolt/validation-error", msg)
}

/// Creates the error of a mistake in the plan's code, which cannot be caught. The location is
/// appended to the message, as Bolt's functions do.
pub(crate) fn plan_mistake(msg: &str, place: &SourceLocation) -> EvalError {
    let place = SourceLocation {
        column: 0,
        ..place.clone()
    };
    EvalError::preformatted(MISTAKE, format!("{msg} {place}").trim_end(), place)
}

/// The code of errors of [`plan_mistake`].
const MISTAKE: &str = "PLAN_MISTAKE";

/// Raises an `Error` object.
pub(crate) fn raise(error: Value) -> Box<EvalUnwind> {
    let msg = error_attribute(&error, "msg");
    let msg = msg.as_str().unwrap_or("the plan failed").to_owned();
    EvalError::without_location(msg).with_payload(error).into()
}

/// Converts an error of the plan engine to an error of the language.
pub(crate) fn unwind(fault: PlanFault) -> Box<EvalUnwind> {
    match fault {
        PlanFault::Failed(error) => raise(error_from_json(&error)),
        PlanFault::Stop(stop) => Box::new(EvalUnwind::Interrupted(HostInterrupt(Box::new(stop)))),
    }
}

/// The `Error` object of an error that a plan may catch; `None` for other errors and interruptions.
pub(crate) fn caught_error(unwind: &EvalUnwind) -> Option<&Value> {
    match unwind {
        EvalUnwind::Error(error) => error.payload.as_ref(),
        _ => None,
    }
}

/// Returns the error of an evaluation, or the reason of its interruption.
pub(crate) fn error_or_stop(unwind: EvalUnwind) -> Result<EvalError, PlanStop> {
    unwind.into_error().map_err(|HostInterrupt(reason)| {
        let stop = reason.downcast::<PlanStop>();
        stop.map_or(PlanStop::Ended, |stop| *stop)
    })
}

/// Converts the error with which a plan ended to the plan's result.
pub(crate) fn to_plan_fault(unwind: EvalUnwind) -> PlanFault {
    match error_or_stop(unwind) {
        Ok(error) => PlanFault::Failed(to_error_json(&error)),
        Err(stop) => PlanFault::Stop(stop),
    }
}

/// Converts an error to `{kind, msg, details}`, with the source location in the details.
pub(crate) fn to_error_json(error: &EvalError) -> Json {
    let mut told = match &error.payload {
        Some(payload) => json::error_to_json(payload),
        None => {
            let cause = WRAPPERS
                .iter()
                .find_map(|it| error.message.strip_prefix(it));
            let mut msg = cause.unwrap_or(&error.message).to_owned();
            if !error.hints.is_empty() {
                msg = format!("{msg} ({})", error.hints.join("; "));
            }
            match error.location.as_ref().filter(|_| error.code != MISTAKE) {
                Some(_) if is_of_node(error) => {
                    let of = msg.trim_start_matches("Evaluation Error: Unknown variable: ");
                    let of = of.trim_end_matches('.');
                    msg = format!(
                        "Evaluation Error: Variable {of} is not available in the current scope unless explicitly \
                         defined."
                    );
                }
                // Only errors of expressions get the location in the message; messages of functions
                // stay as they are.
                Some(place)
                    if msg.starts_with("Evaluation Error: ")
                        || msg.ends_with("is only available when compiling a catalog") =>
                {
                    msg = format!("{msg} {place}").trim_end().to_owned();
                }
                _ => {}
            }
            json!({"kind": EVALUATION, "msg": msg, "details": {}})
        }
    };
    let details = details_of(&mut told).filter(|details| !details.contains_key("file"));
    if let (Some(place), Some(details)) = (&error.location, details) {
        let mut add = |key: &str, value: Json| {
            let _ = details.entry(key).or_insert(value);
        };
        if let Some(file) = &place.file {
            add("file", Json::from(&**file));
        }
        if place.line > 0 {
            add("line", Json::from(place.line));
        }
        if place.column > 0 {
            add("column", Json::from(place.column));
        }
    }
    told
}

/// Returns true for an unknown variable that exists only when a catalog is compiled.
fn is_of_node(error: &EvalError) -> bool {
    let names = ["facts", "trusted", "server_facts", "settings"];
    error.code == "UNKNOWN_VARIABLE"
        && names
            .iter()
            .any(|name| error.message.ends_with(&format!("'{name}'.")))
}

fn details_of(error: &mut Json) -> Option<&mut Map<String, Json>> {
    error.get_mut("details").and_then(Json::as_object_mut)
}
