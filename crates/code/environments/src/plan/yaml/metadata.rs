//! Metadata of a YAML plan: `description`, `private`, `parameters`. Main function: [`metadata`].

use std::path::Path;

use psych::Node;
use serde_json::{Map, Value};

use super::{PlanProblem, YamlParameter, YamlPlan};
use crate::CodeError;
use crate::plan::{PlanMetadata, PlanParameter, problem};

const SENSITIVE: &str = "Sensitive";

pub(in crate::plan) fn metadata(path: &Path, text: &str) -> Result<PlanMetadata, CodeError> {
    let plan = YamlPlan::read(text).map_err(|problems| {
        let told = problems.iter().map(ToString::to_string);
        let first = problems.first().map(|one| (one.line, one.column));
        problem(path, told.collect::<Vec<_>>().join("; "), first)
    })?;
    let parameters = plan.parameters.into_iter();
    let parameters = parameters.map(parameter).collect::<Result<_, _>>();
    Ok(PlanMetadata {
        description: plan.description,
        private: plan.private,
        parameters: parameters.map_err(|wrong: PlanProblem| {
            problem(path, wrong.to_string(), Some((wrong.line, wrong.column)))
        })?,
    })
}

fn parameter(parameter: YamlParameter) -> Result<PlanParameter, PlanProblem> {
    let kind = parameter.kind.as_ref().and_then(Node::as_str);
    let kind = kind.unwrap_or("Any").to_owned();
    Ok(PlanParameter {
        sensitive: is_sensitive(kind.trim()),
        default: parameter.default.as_ref().map(data).transpose()?,
        name: parameter.name,
        description: parameter.description,
        kind,
    })
}

/// True if the type is `Sensitive` or `Sensitive[…]`.
fn is_sensitive(kind: &str) -> bool {
    kind.strip_prefix(SENSITIVE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// Converts a default, which is data, to JSON.
fn data(node: &Node) -> Result<Value, PlanProblem> {
    Ok(match &node.value {
        psych::Value::Null => Value::Null,
        psych::Value::Bool(flag) => Value::from(*flag),
        psych::Value::Integer(number) => Value::from(*number),
        psych::Value::Float(number) => Value::from(*number),
        psych::Value::String(text) => Value::from(&**text),
        psych::Value::Sequence(items) => {
            Value::Array(items.iter().map(data).collect::<Result<_, _>>()?)
        }
        psych::Value::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let name = key
                    .as_str()
                    .ok_or_else(|| wrong(key, "expected text here"))?;
                Ok((name.to_owned(), data(value)?))
            });
            Value::Object(entries.collect::<Result<Map<_, _>, PlanProblem>>()?)
        }
        _ => {
            let what = "a default is data: text, numbers, lists, mappings";
            return Err(wrong(node, what));
        }
    })
}

fn wrong(node: &Node, message: &str) -> PlanProblem {
    PlanProblem {
        message: message.to_owned(),
        line: node.line,
        column: node.column,
    }
}
