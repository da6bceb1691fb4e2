//! `shellquote`: quotes words for a Bourne shell.

use pcore::Value;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any};
use crate::label;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "shellquote",
    &[FunctionDispatch::new(&[any("Any", "words")], shellquote)],
)];

fn shellquote(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    for argument in &mut call.arguments {
        *argument = evaluator.old_argument(argument)?;
    }
    let mut words = Vec::new();
    evaluator.flatten_into(&call.arguments, &mut words)?;
    let mut quoted = Vec::with_capacity(words.len());
    for word in &words {
        match word {
            Value::Str(word) => quoted.push(quote(word)),
            other => {
                return raise(format!(
                    "shellquote(): every word must be a String, got {}",
                    label::value_label(other)
                ));
            }
        }
    }
    let text = quoted.join(" ");
    evaluator.charge_bytes(text.len())?;
    Ok(Value::from(text))
}

fn quote(word: &str) -> String {
    let is_safe = |it: char| it.is_ascii_alphanumeric() || "@%_+=:,./-".contains(it);
    let is_dangerous = |it: char| "!\"`$\\".contains(it);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    if !word.contains(is_dangerous) {
        return format!("\"{word}\"");
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let mut quoted = String::from("\"");
    for letter in word.chars() {
        if is_dangerous(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}
