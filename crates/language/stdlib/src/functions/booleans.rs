//! `str2bool`, `bool2str`, `bool2num`, `num2bool`, `any2bool`.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::old_api::{OldCall, old_functions};
use crate::ruby::numbers::{float, to_i};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "any2bool" => any2bool;
    "bool2num" => bool2num;
    "bool2str" => bool2str;
    "num2bool" => num2bool;
    "str2bool" => str2bool;
};

/// The boolean that a text denotes: `yes`, `0`, `undef` and the like.
pub(super) fn str2bool_of(value: &Value) -> EvalResult<bool> {
    let text = match value {
        Value::Bool(flag) => return Ok(*flag),
        Value::Str(text) => text,
        _ => return raise("str2bool(): Requires string to work with"),
    };
    let any = |words: &[&str]| {
        let mut lines = text.split('\n');
        lines.any(|line| words.iter().any(|word| line.eq_ignore_ascii_case(word)))
    };
    if text.is_empty() || text.starts_with('\n') || text.contains("\n\n") {
        Ok(false)
    } else if any(&["1", "t", "y", "true", "yes"]) {
        Ok(true)
    } else if any(&["0", "f", "n", "false", "no"])
        || text
            .split('\n')
            .any(|line| matches!(line, "undef" | "undefined"))
    {
        Ok(false)
    } else {
        raise("str2bool(): Unknown type of boolean given")
    }
}

fn str2bool(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("str2bool", "1")?;
    str2bool_of(old.get(0)).map(Value::Bool)
}

fn bool2num(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("bool2num", "1")?;
    Ok(Value::Int(i64::from(str2bool_of(old.get(0))?)))
}

fn bool2str(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if !matches!(old.len(), 1 | 3) {
        return raise(format!(
            "bool2str(): Wrong number of arguments given ({} for 3)",
            old.len()
        ));
    }
    let Value::Bool(flag) = old.get(0) else {
        return raise("bool2str(): Requires a boolean to work with");
    };
    let word = |index: usize, default: &str| match old.get(index) {
        Value::Undef | Value::Bool(false) => Some(Value::from(default)),
        text @ Value::Str(_) => Some(text.clone()),
        _ => None,
    };
    match (word(1, "true"), word(2, "false")) {
        (Some(yes), Some(no)) => Ok(if *flag { yes } else { no }),
        _ => raise("bool2str(): Requires strings to convert to"),
    }
}

fn num2bool_of(value: &Value) -> EvalResult<bool> {
    Ok(match value {
        Value::Int(number) => *number > 0,
        Value::Float(number) => *number >= 1.0,
        Value::Str(text) => match float(text) {
            Some(number) => number >= 1.0,
            None => {
                return raise(format!(
                    "num2bool(): '{text}' does not look like a number: invalid value for Float(): {}",
                    ruby::inspect(value)
                ));
            }
        },
        other => to_i(&ruby::to_s(other)) > 0,
    })
}

fn num2bool(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "num2bool(): Wrong number of arguments given ({} for 1)",
            old.len()
        ));
    }
    num2bool_of(old.get(0)).map(Value::Bool)
}

fn any2bool(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("any2bool", "1")?;
    let value = old.get(0);
    Ok(Value::Bool(match value {
        Value::Bool(flag) => *flag,
        Value::Undef => false,
        Value::Int(_) | Value::Float(_) => num2bool_of(value)?,
        Value::Str(text) if float(text).is_some() => num2bool_of(value)?,
        Value::Str(_) => str2bool_of(value)?,
        _ => true,
    }))
}
