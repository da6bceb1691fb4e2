//! Metadata of a YAML plan: `description`, `private`, `parameters`. Main function:
//! [`parse_metadata`].

use std::path::Path;

use psych::YamlTreeNode;
use serde_json::{Map, Value};

use super::{PlanProblem, YamlParameter, YamlPlan};
use crate::CodeError;
use crate::plan::{PlanMetadata, PlanParameter, plan_error};

const SENSITIVE: &str = "Sensitive";

pub(in crate::plan) fn parse_metadata(path: &Path, text: &str) -> Result<PlanMetadata, CodeError> {
    let plan = YamlPlan::read(text).map_err(|problems| {
        let told = problems.iter().map(ToString::to_string);
        let first = problems.first().map(|one| (one.line, one.column));
        plan_error(path, told.collect::<Vec<_>>().join("; "), first)
    })?;
    let parameters = plan.parameters.into_iter();
    let parameters = parameters.map(to_plan_parameter).collect::<Result<_, _>>();
    Ok(PlanMetadata {
        description: plan.description,
        private: plan.private,
        parameters: parameters.map_err(|wrong: PlanProblem| {
            plan_error(path, wrong.to_string(), Some((wrong.line, wrong.column)))
        })?,
    })
}

fn to_plan_parameter(parameter: YamlParameter) -> Result<PlanParameter, PlanProblem> {
    let kind = parameter.kind.as_ref().and_then(YamlTreeNode::as_str);
    let kind = kind.unwrap_or("Any").to_owned();
    Ok(PlanParameter {
        sensitive: is_sensitive(kind.trim()),
        default: parameter.default.as_ref().map(to_plain_data).transpose()?,
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
fn to_plain_data(node: &YamlTreeNode) -> Result<Value, PlanProblem> {
    Ok(match &node.value {
        psych::YamlValue::Null => Value::Null,
        psych::YamlValue::Bool(flag) => Value::from(*flag),
        psych::YamlValue::Integer(number) => Value::from(*number),
        psych::YamlValue::Float(number) => Value::from(*number),
        psych::YamlValue::String(text) => Value::from(&**text),
        psych::YamlValue::Sequence(items) => {
            Value::Array(items.iter().map(to_plain_data).collect::<Result<_, _>>()?)
        }
        psych::YamlValue::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let name = key
                    .as_str()
                    .ok_or_else(|| problem_at(key, "expected text here"))?;
                Ok((name.to_owned(), to_plain_data(value)?))
            });
            Value::Object(entries.collect::<Result<Map<_, _>, PlanProblem>>()?)
        }
        _ => {
            let what = "a default is data: text, numbers, lists, mappings";
            return Err(problem_at(node, what));
        }
    })
}

fn problem_at(node: &YamlTreeNode, message: &str) -> PlanProblem {
    PlanProblem {
        message: message.to_owned(),
        line: node.line,
        column: node.column,
    }
}
