//! Output formats of values and explanations: [`RenderFormat`].

use std::sync::Arc;

use lookup::LookupTrail;
use pcore::{Hash, Value};
use psych::{EmitLayout, ScalarStyle, YamlTreeNode};
use serde_json::Value as Json;

use cli::terminal;

// The values have no help of their own, like those of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RenderFormat {
    S,
    Json,
    Yaml,
}

/// Formats a value, without a newline at its end.
pub(crate) fn value(format: RenderFormat, value: &Value) -> String {
    let text = match format {
        RenderFormat::S => hiera::plain_text(value),
        RenderFormat::Json => json(value).to_string(),
        RenderFormat::Yaml => text(&tree(value)),
    };
    escape_for_terminal(text)
}

/// Formats the explanation of a lookup.
pub(crate) fn explanation(format: RenderFormat, trail: &LookupTrail) -> String {
    let text = match format {
        RenderFormat::S => trail.explanation(),
        RenderFormat::Json => json(&trail.explanation_data()).to_string(),
        RenderFormat::Yaml => text(&explanation_to_ruby(&trail.explanation_data())),
    };
    escape_for_terminal(text)
}

/// Escapes control characters on a terminal; programs get the text unchanged.
fn escape_for_terminal(text: String) -> String {
    let text = text.strip_suffix('\n').map(str::to_owned).unwrap_or(text);
    if !terminal::is_interactive() {
        return text;
    }
    let lines: Vec<String> = text.lines().map(terminal::escape_control).collect();
    lines.join("\n")
}

/// Converts to JSON; values without a JSON form become text.
fn json(value: &Value) -> Json {
    match value {
        Value::Undef => Json::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Array(items) => items.iter().map(json).collect(),
        Value::Hash(hash) => {
            let entries = hash.iter();
            let entries = entries.map(|(key, value)| (hiera::plain_text(key), json(value)));
            Json::Object(entries.collect())
        }
        other => hiera::plain_text(other).into(),
    }
}

/// Keys of an explanation whose values are symbols in Ruby.
const SYMBOLS: [&str; 3] = ["event", "type", "merge"];

/// Formats as Ruby does; for a value that is too large, the result is an error message.
fn text(tree: &psych::YamlValue) -> String {
    psych::emit(tree, EmitLayout::default()).unwrap_or_else(|error| format!("# {error}"))
}

fn tree(value: &Value) -> psych::YamlValue {
    match value {
        Value::Undef => psych::YamlValue::Null,
        Value::Bool(flag) => psych::YamlValue::Bool(*flag),
        Value::Int(number) => psych::YamlValue::Integer(*number),
        Value::Float(number) => psych::YamlValue::Float(*number),
        Value::Str(text) => psych::YamlValue::String(Arc::clone(text)),
        Value::Array(items) => sequence(items.iter().map(tree)),
        Value::Hash(hash) => mapping(hash, |key, value| (tree(key), tree(value))),
        other => psych::YamlValue::String(hiera::plain_text(other).into()),
    }
}

/// Converts an explanation, whose keys are symbols.
fn explanation_to_ruby(value: &Value) -> psych::YamlValue {
    match value {
        Value::Array(branches) => sequence(branches.iter().map(explanation_to_ruby)),
        Value::Hash(hash) => mapping(hash, |key, value| {
            let name = key.as_str().unwrap_or_default();
            let value = match value {
                Value::Str(text) if SYMBOLS.contains(&name) => {
                    psych::YamlValue::Symbol(Arc::clone(text))
                }
                branches if name == "branches" => explanation_to_ruby(branches),
                value => tree(value),
            };
            (psych::YamlValue::Symbol(name.into()), value)
        }),
        other => tree(other),
    }
}

fn sequence(items: impl Iterator<Item = psych::YamlValue>) -> psych::YamlValue {
    psych::YamlValue::Sequence(Arc::new(items.map(node).collect()))
}

fn mapping(
    hash: &Hash,
    entry: impl Fn(&Value, &Value) -> (psych::YamlValue, psych::YamlValue),
) -> psych::YamlValue {
    let entries = hash.iter().map(|(key, value)| {
        let (key, value) = entry(key, value);
        (node(key), node(value))
    });
    psych::YamlValue::Mapping(Arc::new(entries.collect()))
}

fn node(value: psych::YamlValue) -> YamlTreeNode {
    YamlTreeNode {
        value,
        line: 0,
        column: 0,
        style: ScalarStyle::Plain,
    }
}
