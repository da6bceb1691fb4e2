//! `stdlib::rewrap_sensitive_data`, and marking of texts made from sensitive values as sensitive.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator};
use pcore::{Hash, Value};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "stdlib::rewrap_sensitive_data",
    &[FunctionDispatch::new(&[one("Any", "data")], rewrap)
        .with_optional_block("Callable[Any]")
        .returning("Any")],
)];

fn rewrap(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (value, was_sensitive) = unwrap_deep(evaluator, call.get(0))?;
    let value = match call.block {
        Some(block) => evaluator.call_block(block, [value])?,
        None => value,
    };
    Ok(if was_sensitive {
        Value::sensitive(value)
    } else {
        value
    })
}

/// Writes a value as a text, which is sensitive if any part of the value is.
pub(super) fn write_unwrapped(
    evaluator: &Evaluator<'_>,
    value: &Value,
    write: impl FnOnce(&Value) -> EvalResult<String>,
) -> EvalResult {
    let (bare, was_sensitive) = unwrap_deep(evaluator, value)?;
    let text = write(&bare)?;
    evaluator.charge_bytes(text.len())?;
    let text = Value::from(text);
    Ok(if was_sensitive {
        Value::sensitive(text)
    } else {
        text
    })
}

/// A value without its Sensitive wrappers, and true if it had any.
pub(super) fn unwrap_deep(evaluator: &Evaluator<'_>, value: &Value) -> EvalResult<(Value, bool)> {
    let mut found = false;
    let bare = unwrap(evaluator, value, &mut found)?;
    Ok((if found { bare } else { value.clone() }, found))
}

fn unwrap(evaluator: &Evaluator<'_>, value: &Value, found: &mut bool) -> EvalResult {
    evaluator.stack_check()?;
    evaluator.charge_element()?;
    Ok(match value {
        Value::Sensitive(inner) => {
            *found = true;
            evaluator.host().unwrapped(inner);
            unwrap(evaluator, inner, found)?
        }
        Value::Array(list) => {
            let mut bare = Vec::with_capacity(list.len());
            for it in list.iter() {
                bare.push(unwrap(evaluator, it, found)?);
            }
            Value::array(bare)
        }
        Value::Hash(entries) => {
            let mut bare = Hash::with_capacity(entries.len());
            for (key, it) in entries.iter() {
                let key = match key {
                    Value::Sensitive(inner) => {
                        *found = true;
                        evaluator.host().unwrapped(inner);
                        (**inner).clone()
                    }
                    other => other.clone(),
                };
                bare.insert(key, unwrap(evaluator, it, found)?);
            }
            Value::hash(bare)
        }
        other => other.clone(),
    })
}
