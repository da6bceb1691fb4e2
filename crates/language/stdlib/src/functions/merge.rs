//! `merge`, `deep_merge`, `stdlib::sort_by`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use evaluator::{EvalResult, Evaluator, elements, raise};
use pcore::{Hash, Value};

use crate::old_api::{OldCall, class_name, old_functions};

macro_rules! merge {
    () => {
        &[
            FunctionDispatch::new(
                &[any("Variant[Hash[Scalar,Any], Undef, String[0,0]]", "args")],
                merge,
            )
            .returning("Hash[Scalar,Any]"),
            FunctionDispatch::new(&[any("Iterable", "args")], merge_indexed)
                .with_block("Callable[3,3]")
                .returning("Hash"),
            FunctionDispatch::new(&[any("Iterable", "args")], merge_each)
                .with_block("Callable[2,2]")
                .returning("Hash"),
        ]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("merge", merge!()),
    FunctionSpec::new("stdlib::merge", merge!()),
    FunctionSpec::new(
        "stdlib::sort_by",
        &[
            FunctionDispatch::new(&[one("Array", "ary")], sort_by).with_block("Callable[1,1]"),
            FunctionDispatch::new(&[one("String", "str")], sort_by).with_block("Callable[1,1]"),
            FunctionDispatch::new(&[one("Hash", "hsh")], sort_by)
                .with_block("Variant[Callable[1,1], Callable[2,2]]"),
        ],
    ),
];

pub(super) static DEEP: &[FunctionSpec] = old_functions! {
    "deep_merge" => deep_merge;
};

fn merge_into(evaluator: &Evaluator<'_>, all: &mut Hash, more: &Value) -> EvalResult<()> {
    if let Value::Hash(entries) = more {
        evaluator.charge(entries.len())?;
        all.extend(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    Ok(())
}

fn merge(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut all = Hash::new();
    for argument in &call.arguments {
        merge_into(evaluator, &mut all, argument)?;
    }
    Ok(Value::hash(all))
}

/// The elements to iterate over; there must be exactly one argument.
fn iterate_arguments(call: &CallArguments<'_>) -> EvalResult<impl Iterator<Item = Value> + use<>> {
    if call.len() != 1 {
        return raise(format!(
            "wrong number of arguments (given {}, expected 1)",
            call.len()
        ));
    }
    match elements(call.get(0)) {
        Some(elements) => Ok(elements),
        None => raise(format!("{} is not iterable", class_name(call.get(0)))),
    }
}

fn merge_each(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut all = Hash::new();
    for element in iterate_arguments(&call)? {
        evaluator.charge_element()?;
        let so_far = Value::hash(all.clone());
        let more = evaluator.call_block(call.required_block(), [so_far, element])?;
        merge_into(evaluator, &mut all, &more)?;
    }
    Ok(Value::hash(all))
}

/// Entries of a hash are passed as key and value, other elements with their index.
fn merge_indexed(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_hash = matches!(call.get(0), Value::Hash(_));
    let mut all = Hash::new();
    for (index, element) in iterate_arguments(&call)?.enumerate() {
        evaluator.charge_element()?;
        let (first, second) = match (&element, is_hash) {
            (Value::Array(pair), true) if pair.len() == 2 => (pair[0].clone(), pair[1].clone()),
            _ => (
                Value::Int(i64::try_from(index).unwrap_or(i64::MAX)),
                element,
            ),
        };
        let so_far = Value::hash(all.clone());
        let more = evaluator.call_block(call.required_block(), [so_far, first, second])?;
        merge_into(evaluator, &mut all, &more)?;
    }
    Ok(Value::hash(all))
}

fn deep_merge(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "deep_merge(): wrong number of arguments ({}; must be at least 2)",
            old.len()
        ));
    }
    let mut all = Hash::new();
    for argument in &old.arguments {
        match argument {
            Value::Str(text) if text.is_empty() => {}
            Value::Hash(entries) => all = deeply(evaluator, &all, entries)?,
            other => {
                return raise(format!(
                    "deep_merge: unexpected argument type {}, only expects hash arguments",
                    class_name(other)
                ));
            }
        }
    }
    Ok(Value::hash(all))
}

fn deeply(evaluator: &Evaluator<'_>, left: &Hash, right: &Hash) -> EvalResult<Hash> {
    evaluator.stack_check()?;
    evaluator.charge(left.len() + right.len())?;
    let mut all = left.clone();
    for (key, value) in right.iter() {
        let merged = match (all.get(key), value) {
            (Some(Value::Hash(old)), Value::Hash(new)) => Value::hash(deeply(evaluator, old, new)?),
            _ => value.clone(),
        };
        all.insert(key.clone(), merged);
    }
    Ok(all)
}

/// Sorts by the results of the block: numbers, texts, and lists of them have an order.
fn sort_by(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let block = call.required_block();
    let mut keyed = Vec::new();
    for element in elements(call.get(0)).into_iter().flatten() {
        evaluator.charge_element()?;
        let key = match &element {
            Value::Array(pair)
                if matches!(call.get(0), Value::Hash(_)) && block.accepts_arity(2) =>
            {
                evaluator.call_block(block, [pair[0].clone(), pair[1].clone()])?
            }
            _ => evaluator.call_block(block, [element.clone()])?,
        };
        keyed.push((key, element));
    }
    let mut refused = None;
    keyed.sort_by(|(a, _), (b, _)| {
        order(a, b).unwrap_or_else(|| {
            refused.get_or_insert_with(|| {
                format!(
                    "comparison of {} with {} failed",
                    class_name(a),
                    class_name(b)
                )
            });
            std::cmp::Ordering::Equal
        })
    });
    if let Some(text) = refused {
        return raise(text);
    }
    let sorted = keyed.into_iter().map(|(_, element)| element);
    Ok(match call.get(0) {
        Value::Str(_) => Value::from(sorted.map(|it| it.to_string()).collect::<String>()),
        Value::Hash(_) => Value::hash(
            sorted
                .filter_map(|it| it.as_array().map(|pair| (pair[0].clone(), pair[1].clone())))
                .collect(),
        ),
        _ => Value::array(sorted.collect()),
    })
}

/// Ruby's `<=>` comparison.
fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                match order(a, b)? {
                    std::cmp::Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_))
        | (Value::Timestamp(_), Value::Timestamp(_))
        | (Value::Timespan(_), Value::Timespan(_))
        | (Value::SemVer(_), Value::SemVer(_)) => a.compare(b).ok().flatten(),
        _ if a == b => Some(std::cmp::Ordering::Equal),
        _ => None,
    }
}
