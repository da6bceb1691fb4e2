//! Lists and hashes converted to each other, from bytes, and from iterable values.
//!
//! Invariant: at most [`CONVERTED_ELEMENTS_MAX`] elements are made.

use super::ConversionError;
use super::constructor::{ConstructorParameters, ValueConstructor, general_refusal, named};
use crate::defaults::CONVERTED_ELEMENTS_MAX;
use crate::types::{IntRange, Type, TypeKind};
use crate::value::{Hash, Value};

pub(super) fn array() -> ValueConstructor {
    let from = Type::variant_of(vec![
        Type::array(),
        Type::hash(),
        Type::binary(),
        Type::iterable(),
    ]);
    ValueConstructor::new("new_array")
        .with_signature(
            ConstructorParameters::one("from", from).with_optional("wrap", Type::boolean_of(false)),
            |arguments| {
                let from = arguments.first().unwrap_or(&Value::Undef);
                let Some(elements) = elements(from)? else {
                    return Err(refuse(from, "Array"));
                };
                Ok(Value::array(elements))
            },
        )
        .with_signature(
            ConstructorParameters::one("from", Type::any())
                .with_required("wrap", Type::boolean_of(true)),
            |arguments| {
                let from = arguments.first().cloned().unwrap_or_default();
                Ok(match from {
                    Value::Array(_) => from,
                    other => Value::array(vec![other]),
                })
            },
        )
        .with_refusal(
            ConstructorParameters::one("from", Type::any()).with_optional("wrap", Type::boolean()),
            |arguments| refuse(arguments.first().unwrap_or(&Value::Undef), "Array"),
        )
}

fn refuse(from: &Value, to: &'static str) -> ConversionError {
    ConversionError::Value {
        from: general_refusal(from),
        to,
    }
}

/// Elements of a value for iteration; `None` if it cannot be iterated.
pub(crate) fn elements(value: &Value) -> Result<Option<Vec<Value>>, ConversionError> {
    Ok(Some(match value {
        Value::Array(values) => values.to_vec(),
        Value::Hash(entries) => entries
            .iter()
            .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]))
            .collect(),
        Value::Binary(bytes) => bytes
            .bytes()
            .iter()
            .map(|byte| Value::Int((*byte).into()))
            .collect(),
        Value::Str(text) => text.chars().map(|c| Value::from(c.to_string())).collect(),
        Value::Int(count) if *count >= 0 => numbers(0, *count - 1)?,
        Value::Type(ty) => match ty.unaliased().map(Type::kind) {
            Some(TypeKind::Integer(IntRange {
                from: Some(from),
                to: Some(to),
            })) => numbers(*from, *to)?,
            Some(TypeKind::Enum(texts)) => texts.values().iter().cloned().map(Value::Str).collect(),
            _ => return Ok(None),
        },
        Value::Object(object) => return Ok(object.elements()),
        _ => return Ok(None),
    }))
}

fn numbers(from: i64, to: i64) -> Result<Vec<Value>, ConversionError> {
    if to < from {
        return Ok(Vec::new());
    }
    let count = to.abs_diff(from).saturating_add(1);
    if count > CONVERTED_ELEMENTS_MAX as u64 {
        return Err(ConversionError::TooMany(count));
    }
    Ok((from..=to).map(Value::Int).collect())
}

pub(super) fn hash() -> ValueConstructor {
    let pairs = |name: &str, first: Type| {
        let pair = Type::tuple_of(vec![first, Type::any()], None);
        named(name, &Type::array_sized(pair, Some(IntRange::NOT_EMPTY)))
    };
    let option = named("NewHashOption", &Type::enumeration(["tree", "hash_tree"]));
    ValueConstructor::new("new_hash")
        .with_signature(
            ConstructorParameters::one("from", pairs("TreeArray", Type::array()))
                .with_optional("build_option", option),
            |arguments| {
                let pairs = arguments.first().and_then(Value::as_array).unwrap_or(&[]);
                match arguments.get(1).and_then(Value::as_str) {
                    None => Ok(hash_from_pairs(pairs)),
                    Some(option) => hash_from_tree(pairs, option == "hash_tree"),
                }
            },
        )
        .with_signature(
            ConstructorParameters::one("from", pairs("KeyValueArray", Type::any())),
            |arguments| {
                Ok(hash_from_pairs(
                    arguments.first().and_then(Value::as_array).unwrap_or(&[]),
                ))
            },
        )
        .with_signature(
            ConstructorParameters::one("from", Type::any()),
            |arguments| {
                let from = arguments.first().unwrap_or(&Value::Undef);
                let listed = match from {
                    Value::Hash(_) => return Ok(from.clone()),
                    Value::Binary(_) => None,
                    other => elements(other)?,
                };
                flat(&listed.ok_or_else(|| refuse(from, "Hash"))?)
            },
        )
}

fn hash_from_pairs(pairs: &[Value]) -> Value {
    let entries: Hash = pairs
        .iter()
        .filter_map(|pair| match pair.as_array() {
            Some([key, value]) => Some((key.clone(), value.clone())),
            _ => None,
        })
        .collect();
    entries.into()
}

/// A hash of alternating keys and values.
fn flat(values: &[Value]) -> Result<Value, ConversionError> {
    if values.len() % 2 == 1 {
        return Err(ConversionError::OddArguments);
    }
    let entries: Hash = values
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect();
    Ok(entries.into())
}

/// A hash of values at paths: `[[['a', 'b'], 1]]` becomes `{'a' => {'b' => 1}}`.
fn hash_from_tree(pairs: &[Value], all_hashes: bool) -> Result<Value, ConversionError> {
    let mut root = Value::hash(Hash::new());
    for pair in pairs {
        let Some([path, value]) = pair.as_array() else {
            continue;
        };
        let path = path.as_array().unwrap_or(&[]);
        if path.is_empty() {
            root = merge_root(root, value)?;
        } else {
            let value = if all_hashes {
                list_as_hash(value)
            } else {
                value.clone()
            };
            root = put(root, path, value)?;
        }
    }
    Ok(root)
}

fn merge_root(root: Value, value: &Value) -> Result<Value, ConversionError> {
    let mut entries = root.as_hash().cloned().unwrap_or_default();
    match value {
        Value::Array(values) => {
            for (index, value) in (0_i64..).zip(values.iter()) {
                entries.insert(index, value.clone());
            }
        }
        Value::Hash(more) => {
            entries.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        other => {
            return Err(ConversionError::Arguments(format!(
                "no implicit conversion of {} into Hash",
                Type::infer(other).name()
            )));
        }
    }
    Ok(entries.into())
}

/// Converts lists to hashes from index to element, at every depth.
fn list_as_hash(value: &Value) -> Value {
    match value {
        Value::Array(values) => {
            let entries: Hash = (0_i64..)
                .zip(values.iter())
                .map(|(index, value)| (Value::Int(index), list_as_hash(value)))
                .collect();
            entries.into()
        }
        other => other.clone(),
    }
}

/// Puts a value at a path below a node; returns the node.
fn put(node: Value, path: &[Value], value: Value) -> Result<Value, ConversionError> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(value);
    };
    match node {
        Value::Hash(entries) => {
            let mut entries = entries.as_ref().clone();
            let below = match (entries.get(key), rest.is_empty()) {
                (Some(below), false) => below.clone(),
                _ => Value::hash(Hash::new()),
            };
            entries.insert(key.clone(), put(below, rest, value)?);
            Ok(entries.into())
        }
        Value::Array(values) => {
            let mut values = values.to_vec();
            let index = place(key, values.len())?;
            let below = values.get(index).cloned().unwrap_or_default();
            let new = put(below, rest, value)?;
            if index >= values.len() {
                values.resize(index + 1, Value::Undef);
            }
            values[index] = new;
            Ok(Value::array(values))
        }
        other => Err(ConversionError::Arguments(format!(
            "a value of type {} has nothing below it",
            general_refusal(&other)
        ))),
    }
}

/// An index of a list; a negative one counts from its end.
fn place(key: &Value, len: usize) -> Result<usize, ConversionError> {
    let Value::Int(index) = key else {
        return Err(ConversionError::Arguments(format!(
            "no implicit conversion of {} into Integer",
            Type::infer(key).name()
        )));
    };
    let from_end = i64::try_from(len)
        .unwrap_or(i64::MAX)
        .saturating_add(*index);
    let index = if *index < 0 { from_end } else { *index };
    usize::try_from(index)
        .ok()
        .filter(|index| *index < CONVERTED_ELEMENTS_MAX)
        .ok_or(ConversionError::TooMany(index.unsigned_abs()))
}
