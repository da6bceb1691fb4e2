//! Access to elements of collections: `has_key`, `dig44`, `try_get_value`, `stdlib::nested_values`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value};

use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::numbers::{integer, to_i};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "dig44" => dig44, >= 1;
    "has_key" => has_key;
    "try_get_value" => try_get_value, >= 1;
};

pub(super) static NEW: &[FunctionSpec] = &[FunctionSpec::new(
    "stdlib::nested_values",
    &[FunctionDispatch::new(&[one("Hash", "hash")], nested_values).returning("Array")],
)];

fn nested_values(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut found = Vec::new();
    collect(evaluator, &call.hash(0), &mut found)?;
    Ok(Value::array(found))
}

/// The values of a hash and of the hashes in it.
pub(super) fn collect(
    evaluator: &Evaluator<'_>,
    entries: &Hash,
    found: &mut Vec<Value>,
) -> EvalResult<()> {
    evaluator.stack_check()?;
    evaluator.charge(entries.len())?;
    for value in entries.values() {
        match value {
            Value::Hash(inner) => collect(evaluator, inner, found)?,
            other => found.push(other.clone()),
        }
    }
    Ok(())
}

fn has_key(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 2 {
        return raise(format!(
            "has_key(): wrong number of arguments ({}; must be 2)",
            old.len()
        ));
    }
    match old.get(0) {
        Value::Hash(entries) => Ok(Value::Bool(entries.contains_key(old.get(1)))),
        other => raise(format!(
            "has_key(): expects the first argument to be a hash, got {} which is of type {}",
            ruby::inspect(other),
            class_name(other)
        )),
    }
}

fn dig44(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "dig44(): Wrong number of arguments given ({} for at least 2)",
            old.len()
        ));
    }
    if !matches!(old.get(0), Value::Array(_) | Value::Hash(_)) {
        return raise(format!(
            "dig44(): first argument must be a hash or an array, given {}",
            class_name(old.get(0))
        ));
    }
    let Some(path) = old.list(1) else {
        return raise(format!(
            "dig44(): second argument must be an array, given {}",
            class_name(old.get(1))
        ));
    };
    Ok(walk(old.get(0), path).unwrap_or_else(|| old.get(2).clone()))
}

/// The element at a path; `None` if there is none.
fn walk(data: &Value, path: &[Value]) -> Option<Value> {
    let mut here = data.clone();
    for key in path {
        let next = match &here {
            Value::Array(list) => {
                let index = match key {
                    Value::Int(index) => *index,
                    #[expect(clippy::cast_possible_truncation, reason = "Ruby cuts it off too")]
                    Value::Float(index) => *index as i64,
                    Value::Str(text) => integer(text)?,
                    _ => return None,
                };
                let length = i64::try_from(list.len()).ok()?;
                let index = if index < 0 { index + length } else { index };
                list.get(usize::try_from(index).ok()?)?.clone()
            }
            Value::Hash(entries) => entries.get(key)?.clone(),
            _ => return None,
        };
        if next.is_undef() {
            return None;
        }
        here = next;
    }
    Some(here)
}

fn try_get_value(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.warn(
        evaluator,
        "try_get_value() DEPRECATED: this function is deprecated, please use dig() instead.",
    );
    let default = old.get(2);
    let is_data = matches!(old.get(0), Value::Array(_) | Value::Hash(_));
    let path = match old.get(1) {
        Value::Str(path) if is_data && !path.is_empty() => path,
        other if is_data && other.is_truthy() && other.as_str().is_none() => {
            return raise(format!(
                "undefined method `split' for {}",
                class_name(other)
            ));
        }
        _ => {
            let value = if default.is_truthy() {
                default
            } else {
                old.get(0)
            };
            return Ok(value.clone());
        }
    };
    let separator = match old.get(3) {
        Value::Str(separator) => separator,
        _ => "/",
    };
    let keys: Vec<Value> = path
        .trim_end_matches(separator)
        .split(separator)
        .map(|key| {
            if !key.is_empty() && key.bytes().all(|it| it.is_ascii_digit()) {
                Value::Int(to_i(key))
            } else {
                Value::from(key)
            }
        })
        .collect();
    Ok(walk(old.get(0), &keys).unwrap_or_else(|| default.clone()))
}
