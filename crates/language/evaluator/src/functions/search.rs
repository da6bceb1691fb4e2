//! `all`, `any`, `index`: iterations that end at the first decisive element.

use pcore::Value;

use super::iterate::{ONE, TWO, check_not_broken, forms, iteration, pair, walk, walk_pairs};
use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("all", forms!(all_pairs, all)),
    FunctionSpec::new("any", forms!(any_pair, any_of)),
    FunctionSpec::new(
        "index",
        &[
            FunctionDispatch::new(&[one("Hash[Any, Any]", "hash")], index_pairs).with_block(TWO),
            FunctionDispatch::new(&[one("Hash[Any, Any]", "hash")], index).with_block(ONE),
            FunctionDispatch::new(&[one("Iterable", "enumerable")], index_pairs).with_block(TWO),
            FunctionDispatch::new(&[one("Iterable", "enumerable")], index).with_block(ONE),
            FunctionDispatch::new(
                &[one("String", "str"), one("Variant[String,Regexp]", "match")],
                index_in_text,
            ),
            FunctionDispatch::new(
                &[one("Iterable", "enumerable"), one("Any", "match")],
                index_of,
            ),
        ],
    ),
];

fn all(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut result = true;
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        result = evaluator.call_block(block, [element])?.is_truthy();
        Ok(result)
    })?;
    check_not_broken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn all_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut result = true;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        result = evaluator.call_block(block, [first, second])?.is_truthy();
        Ok(result)
    })?;
    check_not_broken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn any_of(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut result = false;
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        result = evaluator.call_block(block, [element])?.is_truthy();
        Ok(!result)
    })?;
    check_not_broken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn any_pair(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut result = false;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        result = evaluator.call_block(block, [first, second])?.is_truthy();
        Ok(!result)
    })?;
    check_not_broken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn index(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut found = Value::Undef;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        if evaluator.call_block(block, [second])?.is_truthy() {
            found = first;
            return Ok(false);
        }
        Ok(true)
    })?;
    check_not_broken(&call, broken)?;
    Ok(found)
}

fn index_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut found = Value::Undef;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        if evaluator
            .call_block(block, [first.clone(), second])?
            .is_truthy()
        {
            found = first;
            return Ok(false);
        }
        Ok(true)
    })?;
    check_not_broken(&call, broken)?;
    Ok(found)
}

fn index_in_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    let start = match call.get(1) {
        Value::Str(part) => text.find(&**part),
        Value::Regexp(pattern) => match evaluator.regex(pattern.source())?.captures(&text) {
            Ok(found) => found.and_then(|it| it.span(0)).map(|it| it.start),
            Err(error) => return raise(error.to_string()),
        },
        _ => None,
    };
    let letters = start
        .and_then(|start| text.get(..start))
        .map(|it| it.chars().count());
    Ok(letters
        .and_then(|it| i64::try_from(it).ok())
        .map_or(Value::Undef, Value::Int))
}

fn index_of(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let elements = iteration(&call)?;
    let is_hash = elements.is_hash();
    for (index, element) in (0..).zip(elements) {
        let (key, element) = if is_hash {
            pair(element)
        } else {
            (Value::Int(index), element)
        };
        if crate::ruby::equal(&element, call.get(1)) {
            return Ok(key);
        }
    }
    Ok(Value::Undef)
}
