//! `upcase`, `downcase`, `capitalize`, `camelcase`, `strip` and the like: of a string, of the strings in a
//! list; numbers stay as they are.

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::error::Eval;
use crate::function::{CallArguments, Dispatch, FunctionSpec, one};
use crate::iteration::Iteration;

const TEXTS: &str = "Iterable[Variant[String, Numeric]]";
const STRING_DATA: &[(&str, &str)] = &[(
    "StringData",
    "Variant[String, Numeric, Array[StringData], Hash[StringData, StringData]]",
)];

macro_rules! mapped {
    ($run:ident, $change:path) => {
        fn $run(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> Eval {
            let value = call.take(0);
            changed(evaluator, &value, $change)
        }
    };
}

mapped!(upcase, upper);
mapped!(downcase, lower);
mapped!(capitalize, capitalized);
mapped!(camelcase, camel);
mapped!(strip, stripped);
mapped!(lstrip, left_stripped);
mapped!(rstrip, right_stripped);
mapped!(chomp, chomped);
mapped!(chop, chopped);

macro_rules! simple {
    ($run:ident) => {
        &[
            Dispatch::new(&[one("Numeric", "arg")], $run),
            Dispatch::new(&[one("String", "arg")], $run),
            Dispatch::new(&[one(TEXTS, "arg")], $run),
        ]
    };
}

macro_rules! deep {
    ($run:ident) => {
        &[
            Dispatch::new(&[one("Numeric", "arg")], $run),
            Dispatch::new(&[one("String", "arg")], $run),
            Dispatch::new(&[one("Array[StringData]", "arg")], $run),
            Dispatch::new(&[one("Hash[StringData, StringData]", "arg")], $run),
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

fn changed(evaluator: &mut Evaluator<'_>, value: &Value, change: fn(&str) -> String) -> Eval {
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
                let key = changed(evaluator, key, change)?;
                made.insert(key, changed(evaluator, value, change)?);
            }
            Ok(Value::hash(made))
        }
        other => {
            let Some(elements) = Iteration::over(other) else {
                return Ok(other.clone());
            };
            let mut made = Vec::new();
            for element in elements {
                evaluator.charge_element()?;
                made.push(changed(evaluator, &element, change)?);
            }
            Ok(Value::array(made))
        }
    }
}

fn upper(text: &str) -> String {
    text.to_uppercase()
}

fn lower(text: &str) -> String {
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

fn camel(text: &str) -> String {
    text.split('_').map(capitalized).collect()
}

/// Ruby's blanks; NUL counts at the end only.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

fn stripped(text: &str) -> String {
    left_stripped(&right_stripped(text))
}

fn left_stripped(text: &str) -> String {
    text.trim_start_matches(|it| is_blank(it) || it == '\0')
        .to_owned()
}

fn right_stripped(text: &str) -> String {
    text.trim_end_matches(|it| is_blank(it) || it == '\0')
        .to_owned()
}

fn chomped(text: &str) -> String {
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix(['\n', '\r']))
        .unwrap_or(text)
        .to_owned()
}

fn chopped(text: &str) -> String {
    if let Some(rest) = text.strip_suffix("\r\n") {
        return rest.to_owned();
    }
    let mut letters = text.chars();
    letters.next_back();
    letters.as_str().to_owned()
}
