//! Writes a rule as JSON. Main function: [`rule`].

use serde_json::{Value, json};

use super::{Comparison, Path, Rule, Step};

pub(super) fn rule(rule: &Rule) -> Value {
    match rule {
        Rule::And(conditions) => several("and", conditions),
        Rule::Or(conditions) => several("or", conditions),
        Rule::Not(condition) => json!(["not", self::rule(condition)]),
        Rule::Compare(Comparison {
            operator,
            path,
            value,
        }) => json!([operator.sign(), self::path(path), value]),
    }
}

pub(super) fn path(path: &Path) -> Value {
    match path {
        Path::Name => json!("name"),
        Path::Fact(steps) => field("fact", steps),
        Path::Trusted(steps) => field("trusted", steps),
    }
}

fn several(word: &str, conditions: &[Rule]) -> Value {
    let conditions = conditions.iter().map(rule);
    Value::Array(std::iter::once(json!(word)).chain(conditions).collect())
}

fn field(root: &str, steps: &[Step]) -> Value {
    let steps = steps.iter().map(|step| match step {
        Step::Key(key) => json!(key),
        Step::Index(index) => json!(index),
    });
    Value::Array(std::iter::once(json!(root)).chain(steps).collect())
}
