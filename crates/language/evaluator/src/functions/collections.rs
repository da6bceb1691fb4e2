//! `size`, `empty`, `keys`, `values`, `flatten`, `join`, `unique`, `dig`.

use std::fmt::Write;

use pcore::{Hash, Type, Value};

use crate::Evaluator;
use crate::error::{EvalError, EvalResult};
use crate::evaluator::element;
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};
use crate::iteration::ElementIteration;
use crate::ruby;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "length",
        &[
            FunctionDispatch::new(&[one("Collection", "arg")], length),
            FunctionDispatch::new(&[one("String", "arg")], length),
            FunctionDispatch::new(&[one("Binary", "arg")], length),
        ],
    ),
    FunctionSpec::new(
        "size",
        &[FunctionDispatch::new(
            &[one("Variant[Collection, String, Binary]", "arg")],
            length,
        )],
    ),
    FunctionSpec::new(
        "empty",
        &[
            FunctionDispatch::new(&[one("Collection", "coll")], empty),
            FunctionDispatch::new(&[one("Sensitive[String]", "str")], empty),
            FunctionDispatch::new(&[one("String", "str")], empty),
            FunctionDispatch::new(&[one("Numeric", "num")], empty_number),
            FunctionDispatch::new(&[one("Binary", "bin")], empty),
            FunctionDispatch::new(&[one("Undef", "x")], empty),
        ],
    ),
    FunctionSpec::new(
        "keys",
        &[FunctionDispatch::new(&[one("Hash", "hsh")], keys)],
    ),
    FunctionSpec::new(
        "values",
        &[FunctionDispatch::new(&[one("Hash", "hsh")], values)],
    ),
    FunctionSpec::new(
        "flatten",
        &[FunctionDispatch::new(&[any("Any", "args")], flatten)],
    ),
    FunctionSpec::new(
        "join",
        &[FunctionDispatch::new(
            &[one("Array", "arg"), optional("String", "delimiter")],
            join,
        )],
    ),
    FunctionSpec::new(
        "unique",
        &[
            FunctionDispatch::new(&[one("String", "string")], unique_text)
                .with_optional_block("Callable[String]"),
            FunctionDispatch::new(&[one("Hash", "hash")], unique_hash)
                .with_optional_block("Callable[Any]"),
            FunctionDispatch::new(&[one("Array", "array")], unique)
                .with_optional_block("Callable[Any]"),
            FunctionDispatch::new(&[one("Iterable", "iterable")], unique)
                .with_optional_block("Callable[Any]"),
        ],
    ),
    FunctionSpec::new(
        "dig",
        &[FunctionDispatch::new(
            &[one("Optional[Collection]", "data"), any("Any", "arg")],
            dig,
        )],
    ),
];

fn length(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let length = match call.get(0) {
        Value::Array(elements) => elements.len(),
        Value::Hash(entries) => entries.len(),
        Value::Str(text) => text.chars().count(),
        Value::Binary(bytes) => bytes.bytes().len(),
        _ => 0,
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn empty(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::Bool(is_empty(call.get(0))))
}

fn empty_number(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let place = call.location();
    let key = format!(
        "empty-from-{}-{}",
        place.file.as_deref().unwrap_or_default(),
        place.line
    );
    evaluator.warn_once(
        &key,
        "Calling function empty() with Numeric value is deprecated.",
        &place,
    );
    Ok(Value::Bool(false))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.is_empty(),
        Value::Hash(entries) => entries.is_empty(),
        Value::Str(text) => text.is_empty(),
        Value::Binary(bytes) => bytes.bytes().is_empty(),
        Value::Sensitive(inner) => is_empty(inner),
        Value::Undef => true,
        _ => false,
    }
}

fn keys(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let entries = call.hash(0);
    evaluator.charge(entries.len())?;
    Ok(Value::array(entries.keys().cloned().collect()))
}

fn values(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let entries = call.hash(0);
    evaluator.charge(entries.len())?;
    Ok(Value::array(entries.values().cloned().collect()))
}

fn flatten(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut flat = Vec::new();
    evaluator.flatten_into(&call.arguments, &mut flat)?;
    Ok(Value::array(flat))
}

impl Evaluator<'_> {
    /// Flattens nested lists as Ruby's `flatten` does, within the evaluation's limits.
    pub fn flatten(&self, values: &[Value]) -> EvalResult<Vec<Value>> {
        let mut flat = Vec::new();
        self.flatten_into(values, &mut flat)?;
        Ok(flat)
    }

    /// Flattens into a list. Each element is charged, since nested lists that share elements can
    /// become much larger when flattened.
    pub(crate) fn flatten_into(&self, values: &[Value], flat: &mut Vec<Value>) -> EvalResult<()> {
        self.stack_check()?;
        self.charge(values.len())?;
        for value in values {
            match value {
                Value::Array(inner) => self.flatten_into(inner, flat)?,
                other => flat.push(other.clone()),
            }
        }
        Ok(())
    }
}

fn join(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let delimiter = call.text(1);
    let mut flat = Vec::new();
    evaluator.flatten_into(&call.list(0), &mut flat)?;
    let mut text = String::new();
    for (index, value) in flat.iter().enumerate() {
        let piece = match value {
            Value::Str(piece) => piece.to_string(),
            other => ruby::to_s(other),
        };
        evaluator.charge_bytes(piece.len() + delimiter.len())?;
        evaluator.check_size(text.len() + piece.len())?;
        if index > 0 {
            text.push_str(&delimiter);
        }
        text.push_str(&piece);
    }
    Ok(Value::from(text))
}

/// Returns the first of the values with each key; the key is the block's result, or the value
/// itself.
fn distinct(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    values: impl Iterator<Item = Value>,
) -> EvalResult<Vec<Value>> {
    let mut seen = Hash::new();
    let mut kept = Vec::new();
    for value in values {
        evaluator.charge_element()?;
        let key = match call.block {
            Some(block) => evaluator.call_block(block, [value.clone()])?,
            None => value.clone(),
        };
        if !seen.contains_key(&key) {
            seen.insert(key, Value::Undef);
            kept.push(value);
        }
    }
    Ok(kept)
}

fn unique(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    // As in Ruby, the block is not called for a list with a single element.
    if let Value::Array(elements) = call.get(0)
        && elements.len() < 2
    {
        return Ok(call.get(0).clone());
    }
    let Some(elements) = ElementIteration::over_value(call.get(0)) else {
        return Ok(Value::Undef);
    };
    distinct(evaluator, &call, elements).map(Value::array)
}

fn unique_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    if text.chars().nth(1).is_none() {
        return Ok(call.get(0).clone());
    }
    let letters = text.chars().map(|it| Value::from(it.to_string()));
    let mut kept = String::new();
    for letter in distinct(evaluator, &call, letters)? {
        let _ = write!(kept, "{}", letter.as_str().unwrap_or_default());
    }
    Ok(Value::from(kept))
}

/// Groups the keys of a hash whose values are equal, or have equal block results.
fn unique_hash(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut groups: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    let mut places = Hash::new();
    for (key, value) in call.hash(0).iter() {
        evaluator.charge_element()?;
        let group = match call.block {
            Some(block) => evaluator.call_block(block, [value.clone()])?,
            None => value.clone(),
        };
        let place = match places.get(&group).and_then(Value::as_int) {
            Some(place) => usize::try_from(place).unwrap_or_default(),
            None => {
                places.insert(group, i64::try_from(groups.len()).unwrap_or(i64::MAX));
                groups.push((Vec::new(), Vec::new()));
                groups.len() - 1
            }
        };
        if let Some((keys, values)) = groups.get_mut(place) {
            keys.push(key.clone());
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    Ok(Value::hash(
        groups
            .into_iter()
            .map(|(keys, values)| (Value::array(keys), Value::array(values)))
            .collect(),
    ))
}

fn dig(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    walk_path(call.get(0), &call.arguments[1..])
}

/// Follows a path of keys and indices into nested collections.
pub(super) fn walk_path(data: &Value, path: &[Value]) -> EvalResult {
    let mut here = data.clone();
    for (walked, key) in path.iter().enumerate() {
        if here.is_undef() || key.is_undef() {
            return Ok(Value::Undef);
        }
        here = match &here {
            Value::Array(elements) => match key {
                Value::Int(index) => element(elements, *index),
                other => {
                    return Err(key_type_message(
                        &path[..=walked],
                        "EXPECTED_INTEGER_INDEX",
                        "index_type",
                        &Type::infer(other),
                        "requires an Integer index",
                    ));
                }
            },
            Value::Hash(entries) => entries.get(key).cloned().unwrap_or_default(),
            other => {
                return Err(key_type_message(
                    &path[..walked],
                    "EXPECTED_COLLECTION",
                    "value_type",
                    &Type::infer(other),
                    "does not contain a Collection",
                ));
            }
        };
    }
    Ok(here)
}

/// The error of a path that cannot be followed. Blocks of `get` receive its payload.
#[cold]
fn key_type_message(
    walked: &[Value],
    code: &str,
    type_key: &str,
    ty: &Type,
    what: &str,
) -> Box<crate::error::EvalUnwind> {
    let walked = Value::array(walked.to_vec());
    let message = format!(
        "The given data {what} at {}, got '{ty}'",
        ruby::inspect(&walked)
    );
    let details: Hash = [
        ("walked_path", walked),
        (type_key, Value::from(ty.to_string())),
    ]
    .into_iter()
    .collect();
    let arguments = [
        Value::from(message.as_str()),
        Value::from("SLICE_ERROR"),
        Value::hash(details),
        Value::from(code),
    ];
    let payload = pcore::new_instance(&Type::error(), &arguments).unwrap_or_default();
    EvalError::without_location(message)
        .with_payload(payload)
        .into()
}
