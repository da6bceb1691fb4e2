//! The deep merge, equivalent to the `deep_merge` library that Puppet uses: [`deep_merge`].

use std::cmp::Ordering;
use std::sync::Arc;

use pcore::{Hash, Value, ruby_class};

use crate::Error;
use crate::explain::inspect;
use crate::merge::unique;

/// Options of a deep merge.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DeepOptions {
    /// The prefix of a text or key that removes an element.
    knockout_prefix: Option<String>,
    sort_merged_arrays: bool,
    merge_hash_arrays: bool,
}

/// The error for an entry of the merge options whose value has the wrong type.
fn entry_type_error(key: &str, wanted: pcore::Type, value: &Value) -> Error {
    let wanted = pcore::Type::optional_of(wanted);
    let fits = pcore::assert_instance("The merge options", &wanted, value);
    let text = fits.err().map(|it| it.to_string()).unwrap_or_default();
    let wrong = "has wrong type, ";
    Error::data(text.replacen(wrong, &format!("{wrong}entry '{key}' "), 1))
}

impl DeepOptions {
    pub(crate) fn of(written: &Hash) -> Result<Self, Error> {
        let mut options = Self::default();
        for (key, value) in written.iter() {
            let key = crate::explain::plain_text(key);
            match (key.as_str(), value) {
                ("knockout_prefix", Value::Str(prefix)) => {
                    options.knockout_prefix = Some(prefix.to_string());
                }
                ("sort_merged_arrays", Value::Bool(set)) => options.sort_merged_arrays = *set,
                ("merge_hash_arrays", Value::Bool(set)) => options.merge_hash_arrays = *set,
                ("merge_debug", Value::Bool(_)) => {}
                ("knockout_prefix" | "sort_merged_arrays" | "merge_hash_arrays", Value::Undef) => {}
                ("knockout_prefix" | "sort_merged_arrays" | "merge_hash_arrays", other) => {
                    let wanted = match key.as_str() {
                        "knockout_prefix" => pcore::Type::string(),
                        _ => pcore::Type::boolean(),
                    };
                    return Err(entry_type_error(&key, wanted, other));
                }
                _ => {
                    return Err(Error::data(format!(
                        "The merge options has wrong type, unrecognized key '{key}'"
                    )));
                }
            }
        }
        Ok(options)
    }

    /// The text without the prefix; `None` if it does not have it.
    fn knockout_target<'v>(&self, value: &'v Value) -> Option<&'v str> {
        match (value, &self.knockout_prefix) {
            (Value::Str(text), Some(prefix)) if !prefix.is_empty() => text.strip_prefix(&**prefix),
            _ => None,
        }
    }
}

/// Merges a value into one of lower priority.
pub(crate) fn deep_merge(
    source: Value,
    target: Value,
    options: &DeepOptions,
) -> Result<Value, Error> {
    match (source, target) {
        (Value::Undef, target) => Ok(target),
        (source, Value::Undef | Value::Bool(false)) => Ok(source),
        (Value::Hash(source), target) => merge_hash(&source, target, options),
        (Value::Array(source), target) => merge_array(&source, target, options),
        (source, _) => Ok(overwrite(source, options)),
    }
}

fn merge_hash(source: &Arc<Hash>, target: Value, options: &DeepOptions) -> Result<Value, Error> {
    let mut merged = match target {
        Value::Hash(target) => Arc::unwrap_or_clone(target),
        other if source.is_empty() => return Ok(other),
        _ => Hash::clone(source),
    };
    for (key, value) in source.iter() {
        let below = match merged.get(key) {
            None | Some(Value::Undef | Value::Bool(false)) => value.clone(),
            Some(there) => there.clone(),
        };
        let value = deep_merge(value.clone(), below, options)?;
        merged.insert(key.clone(), value);
    }
    Ok(Value::Hash(Arc::new(merged)))
}

fn merge_array(source: &[Value], target: Value, options: &DeepOptions) -> Result<Value, Error> {
    let mut source = source.to_vec();
    let mut target = target;
    if let Some(prefix) = &options.knockout_prefix {
        let alone = Value::from(prefix.as_str());
        if source.contains(&alone) {
            target = match target {
                Value::Array(_) => Value::array(Vec::new()),
                Value::Hash(_) => Value::Hash(Arc::default()),
                Value::Str(_) => Value::from(""),
                _ => Value::Undef,
            };
            source.retain(|item| *item != alone);
        }
    }
    let Value::Array(items) = target else {
        source.retain(|item| options.knockout_target(item).is_none());
        return Ok(Value::array(source));
    };
    let mut items = Arc::unwrap_or_clone(items);
    for item in &source {
        if let Some(name) = options.knockout_target(item) {
            items.retain(|it| it != item && !matches!(it, Value::Str(text) if **text == *name));
        }
    }
    source.retain(|item| options.knockout_target(item).is_none());
    let hashes = |items: &[Value]| items.iter().all(|item| matches!(item, Value::Hash(_)));
    let mut merged = if options.merge_hash_arrays && hashes(&source) && hashes(&items) {
        let mut rest = source.into_iter();
        let mut merged = Vec::with_capacity(items.len());
        for item in items {
            let over = rest.next().unwrap_or_else(|| Value::Hash(Arc::default()));
            merged.push(deep_merge(over, item, options)?);
        }
        merged.extend(rest);
        merged
    } else {
        unique(items.into_iter().chain(source))
    };
    if options.sort_merged_arrays {
        sort(&mut merged)?;
    }
    Ok(Value::array(merged))
}

/// Overwrites a value that cannot be merged; a text with the prefix leaves an empty one.
fn overwrite(source: Value, options: &DeepOptions) -> Value {
    match options.knockout_target(&source) {
        Some(_) => Value::from(""),
        None => source,
    }
}

/// Sorts as Ruby does: values without an order are an error.
fn sort(items: &mut [Value]) -> Result<(), Error> {
    let mut failure = None;
    items.sort_by(|a, b| {
        order(a, b).unwrap_or_else(|| {
            failure.get_or_insert_with(|| not_comparable_error(b, a));
            Ordering::Equal
        })
    });
    failure.map_or(Ok(()), Err)
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            a.compare(b).ok().flatten()
        }
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                match order(a, b)? {
                    Ordering::Equal => {}
                    decided => return Some(decided),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        (Value::Undef, Value::Undef) => Some(Ordering::Equal),
        (Value::Bool(a), Value::Bool(b)) if a == b => Some(Ordering::Equal),
        _ => None,
    }
}

fn not_comparable_error(a: &Value, b: &Value) -> Error {
    let with = match b {
        Value::Undef | Value::Bool(_) | Value::Int(_) | Value::Float(_) => inspect(b),
        _ => ruby_class(b),
    };
    Error::data(format!(
        "comparison of {} with {with} failed",
        ruby_class(a)
    ))
}
