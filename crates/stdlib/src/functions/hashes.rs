//! Hashes, and what works on lists as well: `delete`, `count`, `prefix`, `dig44`.

use evaluator::function::{Call, Form, Function, one};
use evaluator::{Eval, Evaluator, raise, ruby};
use pcore::{Hash, Value};
use ruby_regex::Regex;

use super::arrays::matches;
use crate::old::{Old, class, old_functions};
use crate::ruby::characters::Characters;
use crate::ruby::numbers::{integer, to_i};

pub(super) static FUNCTIONS: &[Function] = old_functions! {
    "count" => count, >= 1;
    "delete" => delete;
    "delete_regex" => delete_regex;
    "delete_undef_values" => delete_undef_values;
    "delete_values" => delete_values;
    "dig44" => dig44, >= 1;
    "has_key" => has_key;
    "join_keys_to_values" => join_keys_to_values;
    "prefix" => prefix;
    "suffix" => suffix;
    "try_get_value" => try_get_value, >= 1;
};

pub(super) static NESTED: &[Function] = &[Function::new(
    "stdlib::nested_values",
    &[Form::new(&[one("Hash", "hash")], nested_values).returning("Array")],
)];

fn nested_values(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let mut found = Vec::new();
    collect(evaluator, &call.hash(0), &mut found)?;
    Ok(Value::array(found))
}

/// The values of a hash and of the hashes in it.
pub(super) fn collect(
    evaluator: &Evaluator<'_>,
    entries: &Hash,
    found: &mut Vec<Value>,
) -> Eval<()> {
    evaluator.charge(entries.len())?;
    for value in entries.values() {
        match value {
            Value::Hash(inner) => collect(evaluator, inner, found)?,
            other => found.push(other.clone()),
        }
    }
    Ok(())
}

fn count(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.len() > 2 {
        return raise(format!(
            "count(): Wrong number of arguments given {} for 1 or 2.",
            old.len()
        ));
    }
    let item = Some(old.get(1)).filter(|it| it.is_truthy());
    let number = match (old.get(0), item) {
        (Value::Array(list), Some(item)) => {
            evaluator.charge(list.len())?;
            list.iter().filter(|it| ruby::equal(it, item)).count()
        }
        (Value::Array(list), None) => list
            .iter()
            .filter(|it| !it.is_undef() && it.as_str() != Some(""))
            .count(),
        (Value::Hash(entries), Some(item)) => entries
            .iter()
            .filter(|(key, value)| {
                let pair = Value::array(vec![(*key).clone(), (*value).clone()]);
                ruby::equal(&pair, item)
            })
            .count(),
        (Value::Hash(entries), None) => entries.len(),
        (Value::Str(text), Some(Value::Str(spec))) => {
            let set = Characters::parse(spec).or_else(raise)?;
            text.chars().filter(|c| set.contains(*c)).count()
        }
        (other, _) => return raise(format!("undefined method `count' for {}", class(other))),
    };
    Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// Ruby's `Array()`.
fn items(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list.to_vec(),
        Value::Hash(entries) => entries
            .iter()
            .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]))
            .collect(),
        Value::Undef => Vec::new(),
        other => vec![other.clone()],
    }
}

fn delete(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.len() != 2 {
        return raise(format!(
            "delete(): Wrong number of arguments given {} for 2",
            old.len()
        ));
    }
    let mut left = old.get(0).clone();
    for item in items(old.get(1)) {
        left = match &left {
            Value::Array(list) => {
                evaluator.charge(list.len())?;
                Value::array(
                    list.iter()
                        .filter(|it| !ruby::equal(it, &item))
                        .cloned()
                        .collect(),
                )
            }
            Value::Hash(entries) => {
                evaluator.charge(entries.len())?;
                let mut entries = Hash::clone(entries);
                entries.remove(&item);
                Value::hash(entries)
            }
            Value::Str(text) => {
                evaluator.charge_bytes(text.len())?;
                match &item {
                    Value::Str(piece) => Value::from(text.replace(&**piece, "")),
                    other => {
                        return raise(format!(
                            "wrong argument type {} (expected Regexp)",
                            class(other)
                        ));
                    }
                }
            }
            other => {
                return raise(format!(
                    "delete(): First argument must be an Array, String, or Hash. Given an argument of class {}.",
                    class(other)
                ));
            }
        };
    }
    Ok(left)
}

fn delete_regex(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.len() != 2 {
        return raise(format!(
            "delete_regex(): Wrong number of arguments given {} for 2",
            old.len()
        ));
    }
    let mut left = old.get(0).clone();
    for item in items(old.get(1)) {
        let regex = Regex::new(&format!("\\b{}\\b", ruby::to_s(&item)))
            .or_else(|error| raise(error.to_string()))?;
        left = match &left {
            Value::Array(list) => {
                evaluator.charge(list.len())?;
                let mut kept = Vec::new();
                for it in list.iter() {
                    if !matches(&regex, it)? {
                        kept.push(it.clone());
                    }
                }
                Value::array(kept)
            }
            Value::Hash(entries) => {
                evaluator.charge(entries.len())?;
                let mut kept = Hash::new();
                for (key, value) in entries.iter() {
                    if !matches(&regex, key)? {
                        kept.insert(key.clone(), value.clone());
                    }
                }
                Value::hash(kept)
            }
            Value::Str(_) => return raise("undefined method `reject!' for String"),
            other => {
                return raise(format!(
                    "delete_regex(): First argument must be an Array, Hash, or String. Given an argument of class {}.",
                    class(other)
                ));
            }
        };
    }
    Ok(left)
}

fn delete_undef_values(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.arguments.is_empty() {
        return raise("delete_undef_values(): Wrong number of arguments given (0)");
    }
    match old.get(0) {
        Value::Array(list) => {
            evaluator.charge(list.len())?;
            Ok(Value::array(
                list.iter().filter(|it| !it.is_undef()).cloned().collect(),
            ))
        }
        Value::Hash(entries) => without(evaluator, entries, &Value::Undef),
        other => raise(format!(
            "delete_undef_values(): expected an array or hash, got {} type  {} ",
            ruby::to_s(other),
            class(other)
        )),
    }
}

fn without(evaluator: &Evaluator<'_>, entries: &Hash, item: &Value) -> Eval {
    evaluator.charge(entries.len())?;
    let kept = entries
        .iter()
        .filter(|(_, value)| !ruby::equal(item, value))
        .map(|(key, value)| (key.clone(), value.clone()));
    Ok(Value::hash(kept.collect()))
}

fn delete_values(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.len() != 2 {
        return raise(format!(
            "delete_values(): Wrong number of arguments given ({} of 2)",
            old.len()
        ));
    }
    match old.get(0) {
        Value::Hash(entries) => without(evaluator, entries, old.get(1)),
        other => raise(format!(
            "delete_values(): First argument must be a Hash. Given an argument of class {}.",
            class(other)
        )),
    }
}

fn has_key(_: &mut Evaluator<'_>, old: &Old) -> Eval {
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
            class(other)
        )),
    }
}

fn join_keys_to_values(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.len() != 2 {
        return raise(format!(
            "join_keys_to_values(): Takes exactly two arguments, but {} given.",
            old.len()
        ));
    }
    let Some(entries) = old.hash(0) else {
        return raise(format!(
            "join_keys_to_values(): The first argument must be a hash, but a {} was given.",
            class(old.get(0))
        ));
    };
    let Some(separator) = old.text(1) else {
        return raise(format!(
            "join_keys_to_values(): The second argument must be a string, but a {} was given.",
            class(old.get(1))
        ));
    };
    let mut joined = Vec::new();
    let mut join = |key: &str, value: &str| {
        evaluator.charge_bytes(key.len() + separator.len() + value.len())?;
        joined.push(Value::from(format!("{key}{separator}{value}")));
        evaluator.charge_element()
    };
    for (key, value) in entries.iter() {
        let key = ruby::to_s(key);
        match value {
            Value::Array(values) => {
                for value in values.iter() {
                    join(&key, &ruby::to_s(value))?;
                }
            }
            other => join(&key, &ruby::to_s(other))?,
        }
    }
    // a value that reads `undef` leaves the key alone
    for (at, bare) in bare_keys(entries) {
        if let Some(text) = joined.get_mut(at) {
            *text = bare;
        }
    }
    Ok(Value::array(joined))
}

/// Where in the flat result a key stands whose value is `undef`.
fn bare_keys(entries: &Hash) -> Vec<(usize, Value)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (key, value) in entries.iter() {
        match value {
            Value::Array(values) => at += values.len(),
            other => {
                if other.as_str() == Some("undef") {
                    found.push((at, Value::from(ruby::to_s(key))));
                }
                at += 1;
            }
        }
    }
    found
}

fn prefix(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    affixed(evaluator, old, "prefix", |text, affix| {
        format!("{affix}{text}")
    })
}

fn suffix(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    affixed(evaluator, old, "suffix", |text, affix| {
        format!("{text}{affix}")
    })
}

fn affixed(
    evaluator: &Evaluator<'_>,
    old: &Old,
    name: &str,
    join: fn(&str, &str) -> String,
) -> Eval {
    old.some(name, "1")?;
    if !matches!(old.get(0), Value::Array(_) | Value::Hash(_)) {
        return raise(format!(
            "{name}(): expected first argument to be an Array or a Hash, got {}",
            ruby::inspect(old.get(0))
        ));
    }
    let affix = match old.get(1) {
        Value::Undef | Value::Bool(false) => "",
        Value::Str(text) => text,
        other => {
            return raise(format!(
                "{name}(): expected second argument to be a String, got {}",
                ruby::inspect(other)
            ));
        }
    };
    let made = |value: &Value| -> Eval {
        let text = join(&ruby::to_s(value), affix);
        evaluator.charge_element()?;
        evaluator.charge_bytes(text.len())?;
        Ok(Value::from(text))
    };
    match old.get(0) {
        Value::Hash(entries) => {
            let mut all = Hash::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                all.insert(made(key)?, value.clone());
            }
            Ok(Value::hash(all))
        }
        other => {
            let list = other.as_array().unwrap_or_default();
            list.iter()
                .map(made)
                .collect::<Eval<Vec<_>>>()
                .map(Value::array)
        }
    }
}

fn dig44(_: &mut Evaluator<'_>, old: &Old) -> Eval {
    if old.len() < 2 {
        return raise(format!(
            "dig44(): Wrong number of arguments given ({} for at least 2)",
            old.len()
        ));
    }
    if !matches!(old.get(0), Value::Array(_) | Value::Hash(_)) {
        return raise(format!(
            "dig44(): first argument must be a hash or an array, given {}",
            class(old.get(0))
        ));
    }
    let Some(path) = old.list(1) else {
        return raise(format!(
            "dig44(): second argument must be an array, given {}",
            class(old.get(1))
        ));
    };
    Ok(walk(old.get(0), path).unwrap_or_else(|| old.get(2).clone()))
}

/// What a path leads to; `None` if that is nothing.
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

fn try_get_value(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    old.warn(
        evaluator,
        "try_get_value() DEPRECATED: this function is deprecated, please use dig() instead.",
    );
    let default = old.get(2);
    let is_data = matches!(old.get(0), Value::Array(_) | Value::Hash(_));
    let path = match old.get(1) {
        Value::Str(path) if is_data && !path.is_empty() => path,
        other if is_data && other.is_truthy() && other.as_str().is_none() => {
            return raise(format!("undefined method `split' for {}", class(other)));
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
