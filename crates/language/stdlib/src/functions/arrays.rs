//! Lists: `concat`, `union`, `delete_at`, `values_at`, `zip` and their like.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value};
use ruby_regex::Regex;

use super::booleans::str2bool_of;
use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::numbers::value_to_i;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "any2array" => any2array;
    "concat" => concat;
    "delete_at" => delete_at;
    "difference" => difference;
    "grep" => grep;
    "hash" => hash;
    "intersection" => intersection;
    "member" => member;
    "reject" => reject;
    "union" => union;
    "values_at" => values_at;
    "zip" => zip;
};

fn any2array(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    Ok(match old.arguments.as_slice() {
        [list @ Value::Array(_)] => list.clone(),
        [Value::Str(text)] if text.is_empty() => Value::array(Vec::new()),
        [Value::Hash(entries)] => {
            evaluator.charge(entries.len() * 2)?;
            let flat = entries
                .iter()
                .flat_map(|(key, value)| [key.clone(), value.clone()]);
            Value::array(flat.collect())
        }
        all => Value::array(all.to_vec()),
    })
}

fn concat(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "concat(): Wrong number of arguments given ({} for < 2)",
            old.len()
        ));
    }
    let Some(first) = old.list(0) else {
        return raise("concat(): Requires array to work with");
    };
    let mut all = first.to_vec();
    for more in &old.arguments[1..] {
        match more {
            Value::Array(elements) => all.extend_from_slice(elements),
            other => all.push(other.clone()),
        }
        evaluator.check_size(all.len())?;
    }
    evaluator.charge(all.len())?;
    Ok(Value::array(all))
}

fn delete_at(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "delete_at(): Wrong number of arguments given ({} for 2)",
            old.len()
        ));
    }
    let Some(list) = old.list(0) else {
        return raise("delete_at(): Requires array to work with");
    };
    if let Some(text) = old.text(1)
        && !is_digits(text)
    {
        return raise("delete_at(): You must provide non-negative numeric index");
    }
    let index = value_to_i(old.get(1))?;
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if index > length - 1 {
        return raise("delete_at(): Given index exceeds size of array given");
    }
    evaluator.charge(list.len())?;
    let mut rest = list.to_vec();
    let from_start = if index < 0 { index + length } else { index };
    if let Ok(at) = usize::try_from(from_start) {
        rest.remove(at);
    }
    Ok(Value::array(rest))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// Selects the elements that are not in a second list, or those that are.
fn select(
    evaluator: &Evaluator<'_>,
    first: &[Value],
    second: &[Value],
    if_in: bool,
) -> EvalResult<Vec<Value>> {
    evaluator.charge(first.len() + second.len())?;
    let known: Hash = second.iter().map(|it| (it.clone(), Value::Undef)).collect();
    Ok(first
        .iter()
        .filter(|it| known.contains_key(it) == if_in)
        .cloned()
        .collect())
}

fn distinct(values: impl IntoIterator<Item = Value>) -> Value {
    let seen: Hash = values.into_iter().map(|it| (it, Value::Undef)).collect();
    Value::array(seen.keys().cloned().collect())
}

fn two(old: &OldCall, name: &str) -> EvalResult<()> {
    if old.len() == 2 {
        return Ok(());
    }
    raise(format!(
        "{name}(): Wrong number of arguments given ({} for 2)",
        old.len()
    ))
}

fn difference(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    two(old, "difference")?;
    let (Some(first), Some(second)) = (old.list(0), old.list(1)) else {
        return raise("difference(): Requires 2 arrays");
    };
    select(evaluator, first, second, false).map(Value::array)
}

fn intersection(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    two(old, "intersection")?;
    let (Some(first), Some(second)) = (old.list(0), old.list(1)) else {
        return raise(format!(
            "intersection(): Requires 2 arrays, got {} and {}",
            class_name(old.get(0)),
            class_name(old.get(1))
        ));
    };
    select(evaluator, first, second, true).map(distinct)
}

fn union(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "union(): Wrong number of arguments given ({} for < 2)",
            old.len()
        ));
    }
    let mut all = Vec::new();
    for index in 0..old.len() {
        let Some(list) = old.list(index) else {
            return raise("union(): Every parameter must be an array");
        };
        evaluator.charge(list.len())?;
        all.extend_from_slice(list);
    }
    Ok(distinct(all))
}

fn member(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "member(): Wrong number of arguments given ({} for 2)",
            old.len()
        ));
    }
    let Some(list) = old.list(0) else {
        return raise("member(): Requires array to work with");
    };
    let wanted = match old.get(1) {
        one @ (Value::Str(_) | Value::Int(_)) => vec![one.clone()],
        Value::Array(all) => all.to_vec(),
        _ => return raise("member(): Item to search for must be a string, fixnum, or array"),
    };
    if wanted.is_empty() {
        return raise("member(): You must provide item to search for within array given");
    }
    let missing = select(evaluator, &wanted, list, false)?;
    Ok(Value::Bool(missing.is_empty()))
}

fn pattern(evaluator: &Evaluator<'_>, value: &Value) -> EvalResult<Regex> {
    let Value::Str(source) = value else {
        return raise(format!(
            "no implicit conversion of {} into String",
            class_name(value)
        ));
    };
    evaluator.charge_bytes(source.len())?;
    Regex::new(source).or_else(|error| raise(error.to_string()))
}

/// True if an element is a text that matches.
pub(super) fn matches(regex: &Regex, value: &Value) -> EvalResult<bool> {
    match value {
        Value::Str(text) => regex
            .is_match(text)
            .or_else(|error| raise(error.to_string())),
        _ => Ok(false),
    }
}

fn filter_matching(evaluator: &Evaluator<'_>, old: &OldCall, name: &str, keep: bool) -> EvalResult {
    if old.len() != 2 {
        return raise(format!(
            "{name}(): Wrong number of arguments given {} for 2",
            old.len()
        ));
    }
    let regex = pattern(evaluator, old.get(1))?;
    match old.get(0) {
        Value::Array(list) => {
            evaluator.charge(list.len())?;
            let mut kept = Vec::new();
            for element in list.iter() {
                if matches(&regex, element)? == keep {
                    kept.push(element.clone());
                }
            }
            Ok(Value::array(kept))
        }
        // its pairs match nothing
        Value::Hash(_) if keep => Ok(Value::array(Vec::new())),
        Value::Hash(entries) => {
            evaluator.charge(entries.len())?;
            let mut kept = Hash::new();
            for (key, value) in entries.iter() {
                if !matches(&regex, key)? {
                    kept.insert(key.clone(), value.clone());
                }
            }
            Ok(Value::hash(kept))
        }
        other => raise(format!(
            "undefined method `{name}' for {}",
            class_name(other)
        )),
    }
}

fn grep(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    filter_matching(evaluator, old, "grep", true)
}

fn reject(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    filter_matching(evaluator, old, "reject", false)
}

fn hash(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("hash", "1")?;
    let Some(list) = old.list(0) else {
        return raise("hash(): Requires array to work with");
    };
    let flat = evaluator.flatten(list)?;
    evaluator.charge(flat.len())?;
    if let [entries @ Value::Hash(_)] = flat.as_slice() {
        return Ok(entries.clone());
    }
    if !flat.len().is_multiple_of(2) {
        return raise("hash(): Unable to compute hash from array given");
    }
    let pairs = flat
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()));
    Ok(Value::hash(pairs.collect()))
}

fn values_at(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "values_at(): Wrong number of arguments given ({} for 2)",
            old.len()
        ));
    }
    let Some(list) = old.list(0) else {
        return raise("values_at(): Requires array to work with");
    };
    let indices = evaluator.flatten(&old.arguments[1..2])?;
    if indices.is_empty() {
        return raise("values_at(): You must provide at least one positive index to collect");
    }
    let mut found = Vec::new();
    for index in &indices {
        let (first, end) = index_range(&ruby::to_s(index), list.len())?;
        evaluator.charge(end - first)?;
        found.extend_from_slice(&list[first..end]);
    }
    found.retain(|it| !it.is_undef());
    Ok(Value::array(found))
}

/// Parses `3`, `1-3`, `1..3`, `1...3` to the first index and the one after the last.
fn index_range(text: &str, length: usize) -> EvalResult<(usize, usize)> {
    let number = |text: &str| text.parse::<usize>().unwrap_or(usize::MAX);
    let range = [("...", false), ("..", true), ("-", true)]
        .into_iter()
        .find_map(|(sign, closed)| {
            let (first, last) = text.split_once(sign)?;
            (is_digits(first) && is_digits(last)).then(|| (number(first), number(last), closed))
        });
    if let Some((first, last, closed)) = range {
        if first > last {
            return raise(
                "values_at(): Stop index in given indices range is smaller than the start index",
            );
        }
        if last >= length {
            return raise("values_at(): Stop index in given indices range exceeds array size");
        }
        return Ok((first, last + usize::from(closed)));
    }
    if !is_digits(text) {
        return raise("values_at(): Unknown format of given index");
    }
    let index = number(text);
    if index >= length {
        return raise("values_at(): Given index exceeds array size");
    }
    Ok((index, index + 1))
}

fn zip(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "zip(): Wrong number of arguments given ({} for 2)",
            old.len()
        ));
    }
    let (Some(left), Some(right)) = (old.list(0), old.list(1)) else {
        return raise("zip(): Requires array to work with");
    };
    let flat = old.get(2).is_truthy() && str2bool_of(old.get(2))?;
    evaluator.charge(left.len() * 3)?;
    let pairs: Vec<Value> = left
        .iter()
        .enumerate()
        .map(|(index, it)| {
            let other = right.get(index).cloned().unwrap_or_default();
            Value::array(vec![it.clone(), other])
        })
        .collect();
    if !flat {
        return Ok(Value::array(pairs));
    }
    let pairs = evaluator.flatten(&pairs)?;
    evaluator.charge(pairs.len())?;
    Ok(Value::array(pairs))
}
