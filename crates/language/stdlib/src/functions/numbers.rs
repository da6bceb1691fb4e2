//! `clamp`, `convert_base`, `to_bytes`.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::defaults::BASE_DIGITS_MAX;
use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::numbers::{to_f, value_to_i};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "clamp" => clamp, >= 1;
    "convert_base" => convert_base, = 2;
    "to_bytes" => to_bytes;
};

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

fn clamp(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let flat = evaluator.flatten(&old.arguments)?;
    if flat.len() != 3 {
        return raise("clamp(): Wrong number of arguments, need three to clamp");
    }
    let mut numbers = Vec::with_capacity(flat.len());
    for value in &flat {
        match value {
            Value::Str(text) if !is_digits(text) => {
                return raise(format!(
                    "clamp(): Required explicit numeric ({text}:String)"
                ));
            }
            Value::Hash(_) => {
                return raise(format!(
                    "clamp(): The Hash type is not allowed ({})",
                    ruby::to_s(value)
                ));
            }
            _ => {}
        }
    }
    for value in &flat {
        numbers.push(value_to_i(value)?);
    }
    numbers.sort_unstable();
    Ok(Value::Int(numbers[1]))
}

fn convert_base(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    for (index, which) in [(0, "First"), (1, "Second")] {
        if !matches!(old.get(index), Value::Int(_) | Value::Str(_)) {
            return raise(format!(
                "convert_base(): {which} argument must be either a string or an integer"
            ));
        }
    }
    for index in [0, 1] {
        if old.text(index).is_some_and(|text| !is_digits(text)) {
            return raise(
                "convert_base(): First argument must be an integer or a string corresponding to an integer in base 10",
            );
        }
    }
    let base = u32::try_from(value_to_i(old.get(1))?)
        .ok()
        .filter(|base| (2..=36).contains(base));
    let Some(base) = base else {
        return raise("convert_base(): base must be at least 2 and must not be greater than 36");
    };
    let decimal = ruby::to_s(old.get(0));
    if decimal.len() > BASE_DIGITS_MAX {
        return raise(format!(
            "convert_base(): a number of more than {BASE_DIGITS_MAX} digits"
        ));
    }
    Ok(Value::from(in_base(&decimal, base)))
}

/// Converts by long division, since a text may be a number of any length.
fn in_base(decimal: &str, base: u32) -> String {
    let negative = decimal.starts_with('-');
    let mut digits: Vec<u32> = decimal.chars().filter_map(|c| c.to_digit(10)).collect();
    let mut written = Vec::new();
    while digits.iter().any(|digit| *digit != 0) {
        let mut rest = 0;
        for digit in &mut digits {
            let value = rest * 10 + *digit;
            *digit = value / base;
            rest = value % base;
        }
        written.extend(char::from_digit(rest, base));
    }
    if written.is_empty() {
        written.push('0');
    }
    if negative {
        written.push('-');
    }
    written.iter().rev().collect()
}

fn to_bytes(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "to_bytes(): Wrong number of arguments given ({} for 1)",
            old.len()
        ));
    }
    let text = match old.get(0) {
        number @ (Value::Int(_) | Value::Float(_)) => return Ok(number.clone()),
        Value::Str(text) => text,
        Value::Default => "default",
        other => {
            return raise(format!(
                "no implicit conversion of {} into String",
                class_name(other)
            ));
        }
    };
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || ".e+-".contains(c)))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let power = match unit
        .trim_start_matches(|c: char| c.is_ascii_whitespace())
        .chars()
        .next()
    {
        None | Some('b' | 'B') => 0,
        Some('k') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        Some('P') => 50,
        Some('E') => 60,
        Some(other) => return raise(format!("to_bytes(): Unknown prefix {other}")),
    };
    let bytes = to_f(number) * f64::powi(2.0, power);
    if bytes.abs() >= 9_223_372_036_854_775_808.0 {
        return raise(format!("to_bytes(): {text} is more than an Integer holds"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "fractions are cut off")]
    Ok(Value::Int(bytes as i64))
}
