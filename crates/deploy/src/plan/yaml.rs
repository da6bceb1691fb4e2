//! What a YAML plan says of itself: `description`, `private`, `parameters`.
//!
//! The rule: what is read here is checked here; the steps are read when the plan is to run.

use std::path::Path;

use psych::{Mapping, Node};
use serde_json::{Map, Value};

use super::{PlanMetadata, PlanParameter, problem};
use crate::CodeError;

const SENSITIVE: &str = "Sensitive";

pub(super) fn metadata(path: &Path, text: &str) -> Result<PlanMetadata, CodeError> {
    let document = psych::load(text, psych::Options::PLAN);
    let document = document.map_err(|error| problem(path, error.to_string()))?;
    let Some(root) = document.root else {
        return Err(problem(
            path,
            "the file is empty; a plan is a mapping with `steps`",
        ));
    };
    let Some(plan) = root.as_mapping() else {
        return Err(wrong(path, &root, "a plan is a mapping with `steps`"));
    };
    let steps = root.get("steps").and_then(Node::as_sequence);
    if steps.is_none() {
        return Err(wrong(path, &root, "a plan needs `steps`, a list"));
    }
    let mut metadata = PlanMetadata::default();
    for (key, value) in plan {
        match key.as_str() {
            Some("description") => metadata.description = Some(text_of(path, value)?),
            Some("private") => metadata.private = flag(path, value)?,
            Some("parameters") => metadata.parameters = parameters(path, value)?,
            _ => {}
        }
    }
    Ok(metadata)
}

fn parameters(path: &Path, node: &Node) -> Result<Vec<PlanParameter>, CodeError> {
    if matches!(node.value, psych::Value::Null) {
        return Ok(Vec::new());
    }
    let Some(parameters) = node.as_mapping() else {
        let what =
            "`parameters` is a mapping of names to their `type`, `default` and `description`";
        return Err(wrong(path, node, what));
    };
    parameters
        .iter()
        .map(|(name, about)| parameter(path, name, about))
        .collect()
}

fn parameter(path: &Path, name: &Node, about: &Node) -> Result<PlanParameter, CodeError> {
    let Some(text) = name.as_str().filter(|name| is_name(name)) else {
        let what = "a parameter's name is of lower-case letters, digits and underscores, and does not \
                    begin with a digit";
        return Err(wrong(path, name, what));
    };
    let nothing = Mapping::new();
    let about = match (&about.value, about.as_mapping()) {
        (psych::Value::Null, _) => &nothing,
        (_, Some(about)) => about,
        (_, None) => {
            let what =
                format!("`{text}` is described by a mapping: `type`, `default`, `description`");
            return Err(wrong(path, about, &what));
        }
    };
    let mut parameter = PlanParameter {
        name: text.to_owned(),
        kind: "Any".to_owned(),
        default: None,
        description: None,
        sensitive: false,
    };
    for (key, value) in about {
        match key.as_str() {
            Some("type") => parameter.kind = text_of(path, value)?,
            Some("description") => parameter.description = Some(text_of(path, value)?),
            Some("default") => parameter.default = Some(data(path, value)?),
            _ => {
                let what =
                    format!("`{text}` has `type`, `default` and `description`, and nothing else");
                return Err(wrong(path, key, &what));
            }
        }
    }
    let kind = parameter.kind.trim();
    parameter.sensitive = kind == SENSITIVE
        || kind
            .strip_prefix(SENSITIVE)
            .is_some_and(|rest| rest.starts_with('['));
    Ok(parameter)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn text_of(path: &Path, node: &Node) -> Result<String, CodeError> {
    let text = node.as_str().map(str::to_owned);
    text.ok_or_else(|| wrong(path, node, "expected text here"))
}

fn flag(path: &Path, node: &Node) -> Result<bool, CodeError> {
    match node.value {
        psych::Value::Bool(flag) => Ok(flag),
        _ => Err(wrong(path, node, "`private` is true or false")),
    }
}

/// A default, which is data.
fn data(path: &Path, node: &Node) -> Result<Value, CodeError> {
    Ok(match &node.value {
        psych::Value::Null => Value::Null,
        psych::Value::Bool(flag) => Value::from(*flag),
        psych::Value::Integer(number) => Value::from(*number),
        psych::Value::Float(number) => Value::from(*number),
        psych::Value::String(text) => Value::from(&**text),
        psych::Value::Sequence(items) => {
            let items = items.iter().map(|item| data(path, item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        psych::Value::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = text_of(path, key)?;
                Ok((key, data(path, value)?))
            });
            Value::Object(entries.collect::<Result<Map<_, _>, CodeError>>()?)
        }
        _ => {
            return Err(wrong(
                path,
                node,
                "a default is data: text, numbers, lists, mappings",
            ));
        }
    })
}

fn wrong(path: &Path, node: &Node, what: &str) -> CodeError {
    let Node { line, column, .. } = node;
    problem(path, format!("{what} (line: {line}, column: {column})"))
}
