//! `to_ruby` and `to_python`: data as code of these languages.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::defaults::NESTING_MAX;

macro_rules! both {
    ($($name:literal => $run:path),+) => {
        &[$(FunctionSpec::new($name, &[FunctionDispatch::new(&[one("Any", "object")], $run)])),+]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = both!(
    "to_ruby" => to_ruby,
    "stdlib::to_ruby" => to_ruby,
    "to_python" => to_python,
    "stdlib::to_python" => to_python
);

struct HashSyntax {
    arrow: &'static str,
    words: [&'static str; 3],
}

fn to_ruby(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    code(
        evaluator,
        call.get(0),
        &HashSyntax {
            arrow: " => ",
            words: ["true", "false", "nil"],
        },
    )
}

fn to_python(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    code(
        evaluator,
        call.get(0),
        &HashSyntax {
            arrow: ": ",
            words: ["True", "False", "None"],
        },
    )
}

/// A value that is not data is written in its form as rich data.
fn code(evaluator: &Evaluator<'_>, value: &Value, language: &HashSyntax) -> EvalResult {
    check_nesting(evaluator, value, 0)?;
    let rich = value
        .to_rich_json()
        .or_else(|error| raise(error.to_string()))?;
    let mut text = String::new();
    write(evaluator, &Value::from_json(&rich), language, &mut text)?;
    evaluator.charge_bytes(text.len())?;
    Ok(Value::from(text))
}

/// Checks the nesting, and charges the budget: shared lists may be much larger when written out.
fn check_nesting(evaluator: &Evaluator<'_>, value: &Value, depth: usize) -> EvalResult<()> {
    evaluator.charge_element()?;
    if depth > NESTING_MAX {
        return raise(format!(
            "collections are nested deeper than {NESTING_MAX} levels"
        ));
    }
    match value {
        Value::Array(list) => list
            .iter()
            .try_for_each(|it| check_nesting(evaluator, it, depth + 1)),
        Value::Hash(entries) => entries.iter().try_for_each(|(key, it)| {
            check_nesting(evaluator, key, depth + 1)?;
            check_nesting(evaluator, it, depth + 1)
        }),
        Value::Sensitive(inner) => check_nesting(evaluator, inner, depth + 1),
        _ => Ok(()),
    }
}

fn write(
    evaluator: &Evaluator<'_>,
    value: &Value,
    language: &HashSyntax,
    into: &mut String,
) -> EvalResult<()> {
    evaluator.check_size(into.len())?;
    match value {
        Value::Bool(true) => into.push_str(language.words[0]),
        Value::Bool(false) => into.push_str(language.words[1]),
        Value::Undef => into.push_str(language.words[2]),
        Value::Array(list) => {
            into.push('[');
            for (index, it) in list.iter().enumerate() {
                into.push_str(if index > 0 { ", " } else { "" });
                write(evaluator, it, language, into)?;
            }
            into.push(']');
        }
        Value::Hash(entries) => {
            into.push('{');
            for (index, (key, it)) in entries.iter().enumerate() {
                into.push_str(if index > 0 { ", " } else { "" });
                write(evaluator, key, language, into)?;
                into.push_str(language.arrow);
                write(evaluator, it, language, into)?;
            }
            into.push('}');
        }
        other => into.push_str(&ruby::inspect(other)),
    }
    Ok(())
}
