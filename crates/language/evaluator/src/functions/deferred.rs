//! Resolution of `Deferred` values: `call($deferred)`.
//!
//! Invariant: deferred values inside the arguments are resolved first.

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, NativeFunction};

pub(super) fn resolve(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let value = call.take(0);
    resolve_argument(evaluator, &call, &value)
}

fn resolve_argument(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    value: &Value,
) -> EvalResult {
    evaluator.stack_check()?;
    match value {
        Value::Array(elements) => elements
            .iter()
            .map(|element| resolve_argument(evaluator, call, element))
            .collect::<EvalResult<Vec<Value>>>()
            .map(Value::array),
        Value::Hash(entries) => {
            let mut made = Hash::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                let key = resolve_argument(evaluator, call, key)?;
                made.insert(key, resolve_argument(evaluator, call, value)?);
            }
            Ok(Value::hash(made))
        }
        Value::Object(object) if object.object_type().to_plain_string() == "Deferred" => {
            let name = object.attribute("name").unwrap_or_default();
            let arguments = object.attribute("arguments").unwrap_or_default();
            let name = name.as_str().unwrap_or_default();
            let mut given = Vec::new();
            for argument in arguments.as_array().unwrap_or_default() {
                given.push(resolve_argument(evaluator, call, argument)?);
            }
            carried_out(evaluator, call, name, given)
        }
        other => Ok(other.clone()),
    }
}

/// Calls the deferred function. A name that begins with `$` is a variable, and the arguments are a
/// path into its value.
fn carried_out(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    name: &str,
    arguments: Vec<Value>,
) -> EvalResult {
    let Some(variable) = name.strip_prefix('$') else {
        return evaluator.call_named(
            call.cx,
            call.at,
            NativeFunction::core(name),
            name,
            arguments,
            None,
        );
    };
    match evaluator.lookup_variable(call.cx, variable) {
        Some(value) => super::collections::walk_path(&value?, &arguments),
        None => raise(format!("Unknown variable: '{variable}'.")),
    }
}
