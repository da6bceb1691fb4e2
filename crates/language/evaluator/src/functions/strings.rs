//! `upcase`, `downcase`, `capitalize`, `camelcase`, `strip` and similar functions, for a string or
//! the strings in a list; numbers are not changed.

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::error::EvalResult;
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use crate::iteration::ElementIteration;

const TEXTS: &str = "Iterable[Variant[String, Numeric]]";
const STRING_DATA: &[(&str, &str)] = &[(
    "StringData",
    "Variant[String, Numeric, Array[StringData], Hash[StringData, StringData]]",
)];

macro_rules! mapped {
    ($run:ident, $change:path) => {
        fn $run(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
            let value = call.take(0);
            change_strings(evaluator, &value, $change)
        }
    };
}

mapped!(upcase, to_upper);
mapped!(downcase, to_lower);
mapped!(capitalize, capitalized);
mapped!(camelcase, to_camel);
mapped!(strip, strip_text);
mapped!(lstrip, strip_text_left);
mapped!(rstrip, strip_text_right);
mapped!(chomp, chomp_text);
mapped!(chop, chop_text);

macro_rules! simple {
    ($run:ident) => {
        &[
            FunctionDispatch::new(&[one("Numeric", "arg")], $run),
            FunctionDispatch::new(&[one("String", "arg")], $run),
            FunctionDispatch::new(&[one(TEXTS, "arg")], $run),
        ]
    };
}

macro_rules! deep {
    ($run:ident) => {
        &[
            FunctionDispatch::new(&[one("Numeric", "arg")], $run),
            FunctionDispatch::new(&[one("String", "arg")], $run),
            FunctionDispatch::new(&[one("Array[StringData]", "arg")], $run),
            FunctionDispatch::new(&[one("Hash[StringData, StringData]", "arg")], $run),
        ]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("upcase", deep!(upcase)).with_types(STRING_DATA),
    FunctionSpec::new("downcase", deep!(downcase)).with_types(STRING_DATA),
    FunctionSpec::new("capitalize", simple!(capitalize)),
    FunctionSpec::new("camelcase", simple!(camelcase)),
    FunctionSpec::new("strip", simple!(strip)),
    FunctionSpec::new("lstrip", simple!(lstrip)),
    FunctionSpec::new("rstrip", simple!(rstrip)),
    FunctionSpec::new("chomp", simple!(chomp)),
    FunctionSpec::new("chop", simple!(chop)),
];

fn change_strings(
    evaluator: &mut Evaluator<'_>,
    value: &Value,
    change: fn(&str) -> String,
) -> EvalResult {
    match value {
        Value::Str(text) => {
            evaluator.charge_bytes(text.len())?;
            Ok(Value::from(change(text)))
        }
        Value::Int(_) | Value::Float(_) => Ok(value.clone()),
        Value::Hash(entries) => {
            evaluator.charge(entries.len() * 2)?;
            let mut made = Hash::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                let key = change_strings(evaluator, key, change)?;
                made.insert(key, change_strings(evaluator, value, change)?);
            }
            Ok(Value::hash(made))
        }
        other => {
            let Some(elements) = ElementIteration::over_value(other) else {
                return Ok(other.clone());
            };
            let mut made = Vec::new();
            for element in elements {
                evaluator.charge_element()?;
                made.push(change_strings(evaluator, &element, change)?);
            }
            Ok(Value::array(made))
        }
    }
}

fn to_upper(text: &str) -> String {
    text.to_uppercase()
}

fn to_lower(text: &str) -> String {
    text.to_lowercase()
}

pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first
            .to_uppercase()
            .chain(letters.flat_map(char::to_lowercase))
            .collect(),
        None => String::new(),
    }
}

fn to_camel(text: &str) -> String {
    text.split('_').map(capitalized).collect()
}

/// Returns true for the whitespace that Ruby strips; Ruby strips NUL only at the end.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

fn strip_text(text: &str) -> String {
    strip_text_left(&strip_text_right(text))
}

fn strip_text_left(text: &str) -> String {
    text.trim_start_matches(|it| is_blank(it) || it == '\0')
        .to_owned()
}

fn strip_text_right(text: &str) -> String {
    text.trim_end_matches(|it| is_blank(it) || it == '\0')
        .to_owned()
}

fn chomp_text(text: &str) -> String {
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix(['\n', '\r']))
        .unwrap_or(text)
        .to_owned()
}

fn chop_text(text: &str) -> String {
    if let Some(rest) = text.strip_suffix("\r\n") {
        return rest.to_owned();
    }
    let mut letters = text.chars();
    letters.next_back();
    letters.as_str().to_owned()
}
