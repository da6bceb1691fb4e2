//! Writes a rule as JSON. Main function: [`rule_to_json`].

use serde_json::{Value, json};

use super::{FactPath, FactPathStep, NodeGroupRule, RuleComparison};

pub(super) fn rule_to_json(rule: &NodeGroupRule) -> Value {
    match rule {
        NodeGroupRule::And(conditions) => conditions_to_json("and", conditions),
        NodeGroupRule::Or(conditions) => conditions_to_json("or", conditions),
        NodeGroupRule::Not(condition) => json!(["not", self::rule_to_json(condition)]),
        NodeGroupRule::Compare(RuleComparison {
            operator,
            path,
            value,
        }) => json!([operator.as_str(), self::path_to_json(path), value]),
    }
}

pub(super) fn path_to_json(path: &FactPath) -> Value {
    match path {
        FactPath::Name => json!("name"),
        FactPath::Fact(steps) => field_to_json("fact", steps),
        FactPath::Trusted(steps) => field_to_json("trusted", steps),
    }
}

fn conditions_to_json(word: &str, conditions: &[NodeGroupRule]) -> Value {
    let conditions = conditions.iter().map(rule_to_json);
    Value::Array(std::iter::once(json!(word)).chain(conditions).collect())
}

fn field_to_json(root: &str, steps: &[FactPathStep]) -> Value {
    let steps = steps.iter().map(|step| match step {
        FactPathStep::Key(key) => json!(key),
        FactPathStep::Index(index) => json!(index),
    });
    Value::Array(std::iter::once(json!(root)).chain(steps).collect())
}
