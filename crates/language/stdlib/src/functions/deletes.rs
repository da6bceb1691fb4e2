//! Removal and counting of elements of lists and hashes: `delete`, `delete_values`, `count`.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value};
use ruby_regex::Regex;

use super::arrays::matches;
use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::characters::CharacterSet;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "count" => count, >= 1;
    "delete" => delete;
    "delete_regex" => delete_regex;
    "delete_undef_values" => delete_undef_values;
    "delete_values" => delete_values;
};

fn count(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
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
            let set = CharacterSet::parse(spec).or_else(raise)?;
            text.chars().filter(|c| set.contains(*c)).count()
        }
        (other, _) => {
            return raise(format!(
                "undefined method `count' for {}",
                class_name(other)
            ));
        }
    };
    Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// Ruby's `Array()` conversion.
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

fn delete(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
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
                            class_name(other)
                        ));
                    }
                }
            }
            other => {
                return raise(format!(
                    "delete(): First argument must be an Array, String, or Hash. Given an argument of class {}.",
                    class_name(other)
                ));
            }
        };
    }
    Ok(left)
}

fn delete_regex(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
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
                    class_name(other)
                ));
            }
        };
    }
    Ok(left)
}

fn delete_undef_values(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
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
            class_name(other)
        )),
    }
}

fn without(evaluator: &Evaluator<'_>, entries: &Hash, item: &Value) -> EvalResult {
    evaluator.charge(entries.len())?;
    let kept = entries
        .iter()
        .filter(|(_, value)| !ruby::equal(item, value))
        .map(|(key, value)| (key.clone(), value.clone()));
    Ok(Value::hash(kept.collect()))
}

fn delete_values(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
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
            class_name(other)
        )),
    }
}
