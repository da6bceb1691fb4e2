//! Explains the result of a rule for a node. Main function: [`explain`].
//!
//! Every condition becomes `{"value": bool, "form": […]}`, and every path of a comparison
//! `{"path": …, "value": VALUE}`, with the value that was found, or null if there is none.

use serde_json::{Value, json};

use super::fact_lookup::find_value;
use super::{CompiledGroupRule, NodeGroupRule, write};
use crate::NodeFacts;

pub(crate) fn explain(compiled: &CompiledGroupRule, node: &NodeFacts) -> Value {
    let (value, form) = explain_condition(&compiled.rule, compiled, node);
    with_result(value, form)
}

fn explain_condition(
    rule: &NodeGroupRule,
    compiled: &CompiledGroupRule,
    node: &NodeFacts,
) -> (bool, Value) {
    match rule {
        NodeGroupRule::And(conditions) => {
            let (values, form) = explain_several("and", conditions, compiled, node);
            (values.iter().all(|value| *value), form)
        }
        NodeGroupRule::Or(conditions) => {
            let (values, form) = explain_several("or", conditions, compiled, node);
            (values.iter().any(|value| *value), form)
        }
        NodeGroupRule::Not(inner) => {
            let (value, form) = explain_condition(inner, compiled, node);
            (!value, json!(["not", with_result(value, form)]))
        }
        NodeGroupRule::Compare(comparison) => {
            let path = write::path_to_json(&comparison.path);
            let found = find_value(node, &comparison.path).to_json();
            let form = json!([
                comparison.operator.as_str(),
                {"path": path, "value": found},
                comparison.value,
            ]);
            (compiled.holds(comparison, node), form)
        }
    }
}

fn explain_several(
    word: &str,
    conditions: &[NodeGroupRule],
    compiled: &CompiledGroupRule,
    node: &NodeFacts,
) -> (Vec<bool>, Value) {
    let each = conditions.iter();
    let (values, forms): (Vec<_>, Vec<_>) = each
        .map(|rule| {
            let (value, form) = explain_condition(rule, compiled, node);
            (value, with_result(value, form))
        })
        .unzip();
    let form = std::iter::once(json!(word)).chain(forms).collect();
    (values, Value::Array(form))
}

fn with_result(value: bool, form: Value) -> Value {
    json!({"value": value, "form": form})
}
