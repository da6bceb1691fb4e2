//! What a value of a YAML plan is: data, with texts that are evaluated by how they were written. Main
//! function: [`evaluate`].
//!
//! - `'single'` is as it stands; `"double"` is a string of Puppet with `${…}`;
//! - a block behind `|` and plain text that begins with `$` are code;
//! - all other plain text, and a block behind `>`, is as it stands. Keys are never evaluated.

use evaluator::{Eval, Evaluator, Scope};
use pcore::{Hash, Value};
use psych::{Node, Style};

/// The value of a node.
pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    scope: &Scope,
    file: &str,
    node: &Node,
) -> Eval {
    match &node.value {
        psych::Value::Sequence(items) => {
            let values = items
                .iter()
                .map(|item| evaluate(evaluator, scope, file, item));
            Ok(Value::array(values.collect::<Eval<Vec<_>>>()?))
        }
        psych::Value::Mapping(mapping) => {
            let mut hash = Hash::new();
            for (key, item) in mapping.iter() {
                let value = evaluate(evaluator, scope, file, item)?;
                hash.insert(data(key), value);
            }
            Ok(Value::hash(hash))
        }
        psych::Value::String(text) => match code_of(text, node.style) {
            Some(code) => evaluator.evaluate_in(scope, &code, Some(file)),
            None => Ok(Value::Str(text.clone())),
        },
        _ => Ok(data(node)),
    }
}

/// The program that a text is; `None`: it is text.
fn code_of(text: &str, style: Style) -> Option<String> {
    match style {
        Style::Double => Some(interpolated(text)),
        Style::Literal => Some(text.to_owned()),
        Style::Plain if text.starts_with('$') => Some(text.to_owned()),
        _ => None,
    }
}

/// As a heredoc: what YAML has unescaped is not unescaped again, and quotes in it are quotes.
fn interpolated(text: &str) -> String {
    let mut tag = "END_OF_TEXT".to_owned();
    while text.contains(&tag) {
        tag.push('_');
    }
    format!("@(\"{tag}\")\n{text}\n- {tag}\n")
}

/// A value of YAML as it stands.
pub(super) fn data(node: &Node) -> Value {
    match &node.value {
        // Times are read as texts: `psych::Options::PLAN`.
        psych::Value::Null | psych::Value::Date(_) | psych::Value::Time(_) => Value::Undef,
        psych::Value::Bool(flag) => Value::Bool(*flag),
        psych::Value::Integer(number) => Value::Int(*number),
        psych::Value::Float(number) => Value::Float(*number),
        psych::Value::BigInteger(text)
        | psych::Value::String(text)
        | psych::Value::Symbol(text) => Value::Str(text.clone()),
        psych::Value::Binary(bytes) => Value::Binary(pcore::Binary::new(bytes.to_vec())),
        psych::Value::Sequence(items) => Value::array(items.iter().map(data).collect()),
        psych::Value::Mapping(mapping) => {
            let pairs = mapping.iter().map(|(key, item)| (data(key), data(item)));
            Value::hash(pairs.collect())
        }
    }
}
