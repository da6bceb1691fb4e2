//! Explains the result of a rule for a node. Main function: [`explain`].
//!
//! Every condition becomes `{"value": bool, "form": […]}`, and every path of a comparison
//! `{"path": …, "value": VALUE}`, with the value that was found, or null if there is none.

use serde_json::{Value, json};

use super::text::find;
use super::{Compiled, Rule, write};
use crate::NodeFacts;

pub(crate) fn explain(compiled: &Compiled, node: &NodeFacts) -> Value {
    let (value, form) = condition(&compiled.rule, compiled, node);
    explained(value, form)
}

fn condition(rule: &Rule, compiled: &Compiled, node: &NodeFacts) -> (bool, Value) {
    match rule {
        Rule::And(conditions) => {
            let (values, form) = several("and", conditions, compiled, node);
            (values.iter().all(|value| *value), form)
        }
        Rule::Or(conditions) => {
            let (values, form) = several("or", conditions, compiled, node);
            (values.iter().any(|value| *value), form)
        }
        Rule::Not(inner) => {
            let (value, form) = condition(inner, compiled, node);
            (!value, json!(["not", explained(value, form)]))
        }
        Rule::Compare(comparison) => {
            let path = write::path(&comparison.path);
            let found = find(node, &comparison.path).json();
            let form = json!([
                comparison.operator.sign(),
                {"path": path, "value": found},
                comparison.value,
            ]);
            (compiled.holds(comparison, node), form)
        }
    }
}

fn several(
    word: &str,
    conditions: &[Rule],
    compiled: &Compiled,
    node: &NodeFacts,
) -> (Vec<bool>, Value) {
    let each = conditions.iter();
    let (values, forms): (Vec<_>, Vec<_>) = each
        .map(|rule| {
            let (value, form) = condition(rule, compiled, node);
            (value, explained(value, form))
        })
        .unzip();
    let form = std::iter::once(json!(word)).chain(forms).collect();
    (values, Value::Array(form))
}

fn explained(value: bool, form: Value) -> Value {
    json!({"value": value, "form": form})
}
