//! How values and explanations are printed: [`Format`].

use std::sync::Arc;

use lookup::Trail;
use pcore::{Hash, Value};
use psych::{Layout, Node, Style};
use serde_json::Value as Json;

use crate::terminal;

// The values have no help of their own, as those of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    S,
    Json,
    Yaml,
}

/// A value, without the newline at its end.
pub(crate) fn value(format: Format, value: &Value) -> String {
    let text = match format {
        Format::S => hiera::plain(value),
        Format::Json => json(value).to_string(),
        Format::Yaml => text(&tree(value)),
    };
    shown(text)
}

/// What a lookup did.
pub(crate) fn explanation(format: Format, trail: &Trail) -> String {
    let text = match format {
        Format::S => trail.explanation(),
        Format::Json => json(&trail.explanation_data()).to_string(),
        Format::Yaml => text(&told(&trail.explanation_data())),
    };
    shown(text)
}

/// What stands in data cannot move the cursor of who looks at it; programs get it as it is.
fn shown(text: String) -> String {
    let text = text.strip_suffix('\n').map(str::to_owned).unwrap_or(text);
    if !terminal::is_interactive() {
        return text;
    }
    let lines: Vec<String> = text.lines().map(terminal::harmless).collect();
    lines.join("\n")
}

/// What has no form in JSON is its text.
fn json(value: &Value) -> Json {
    match value {
        Value::Undef => Json::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Array(items) => items.iter().map(json).collect(),
        Value::Hash(hash) => {
            let entries = hash.iter();
            let entries = entries.map(|(key, value)| (hiera::plain(key), json(value)));
            Json::Object(entries.collect())
        }
        other => hiera::plain(other).into(),
    }
}

/// The keys of an explanation whose values are symbols to Ruby.
const SYMBOLS: [&str; 3] = ["event", "type", "merge"];

/// As Ruby writes it; a value that is too large for that says so.
fn text(tree: &psych::Value) -> String {
    psych::emit(tree, Layout::default()).unwrap_or_else(|error| format!("# {error}"))
}

fn tree(value: &Value) -> psych::Value {
    match value {
        Value::Undef => psych::Value::Null,
        Value::Bool(flag) => psych::Value::Bool(*flag),
        Value::Int(number) => psych::Value::Integer(*number),
        Value::Float(number) => psych::Value::Float(*number),
        Value::Str(text) => psych::Value::String(Arc::clone(text)),
        Value::Array(items) => sequence(items.iter().map(tree)),
        Value::Hash(hash) => mapping(hash, |key, value| (tree(key), tree(value))),
        other => psych::Value::String(hiera::plain(other).into()),
    }
}

/// An explanation, whose keys are symbols.
fn told(value: &Value) -> psych::Value {
    match value {
        Value::Array(branches) => sequence(branches.iter().map(told)),
        Value::Hash(hash) => mapping(hash, |key, value| {
            let name = key.as_str().unwrap_or_default();
            let value = match value {
                Value::Str(text) if SYMBOLS.contains(&name) => {
                    psych::Value::Symbol(Arc::clone(text))
                }
                branches if name == "branches" => told(branches),
                value => tree(value),
            };
            (psych::Value::Symbol(name.into()), value)
        }),
        other => tree(other),
    }
}

fn sequence(items: impl Iterator<Item = psych::Value>) -> psych::Value {
    psych::Value::Sequence(Arc::new(items.map(node).collect()))
}

fn mapping(
    hash: &Hash,
    entry: impl Fn(&Value, &Value) -> (psych::Value, psych::Value),
) -> psych::Value {
    let entries = hash.iter().map(|(key, value)| {
        let (key, value) = entry(key, value);
        (node(key), node(value))
    });
    psych::Value::Mapping(Arc::new(entries.collect()))
}

fn node(value: psych::Value) -> Node {
    Node {
        value,
        line: 0,
        column: 0,
        style: Style::Plain,
    }
}
