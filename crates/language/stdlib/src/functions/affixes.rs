//! `prefix`, `suffix`, `join_keys_to_values`: text before or after other texts.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value};

use crate::old_api::{OldCall, class_name, old_functions};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "join_keys_to_values" => join_keys_to_values;
    "prefix" => prefix;
    "suffix" => suffix;
};

fn join_keys_to_values(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 2 {
        return raise(format!(
            "join_keys_to_values(): Takes exactly two arguments, but {} given.",
            old.len()
        ));
    }
    let Some(entries) = old.hash(0) else {
        return raise(format!(
            "join_keys_to_values(): The first argument must be a hash, but a {} was given.",
            class_name(old.get(0))
        ));
    };
    let Some(separator) = old.text(1) else {
        return raise(format!(
            "join_keys_to_values(): The second argument must be a string, but a {} was given.",
            class_name(old.get(1))
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

/// The keys whose value is the text `undef`, with their positions in the flat result.
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

fn prefix(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    add_affix(evaluator, old, "prefix", |text, affix| {
        format!("{affix}{text}")
    })
}

fn suffix(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    add_affix(evaluator, old, "suffix", |text, affix| {
        format!("{text}{affix}")
    })
}

fn add_affix(
    evaluator: &Evaluator<'_>,
    old: &OldCall,
    name: &str,
    join: fn(&str, &str) -> String,
) -> EvalResult {
    old.check_any_count(name, "1")?;
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
    let made = |value: &Value| -> EvalResult {
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
                .collect::<EvalResult<Vec<_>>>()
                .map(Value::array)
        }
    }
}
