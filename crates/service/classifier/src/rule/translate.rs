//! Translates a rule into a PuppetDB query in AST form. Main function: [`translate`].
//!
//! Invariants: a condition that cannot be expressed is refused and never dropped; a comparison
//! with `=` matches the text and every typed value that has this text, because facts keep their
//! types in PuppetDB and lose them in rules. Conditions that are always true are dropped.

use serde_json::{Value, json};

use super::number::DecimalNumber;
use super::{FactPath, FactPathStep, NodeGroupRule, RuleComparison, RuleOperator};

/// The PuppetDB endpoint that a query is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFormat {
    /// Endpoint `nodes`: has top-level facts only, without their structure, and no trusted facts.
    Nodes,
    /// Endpoint `inventory`: has all facts, as `facts.os.name` and `trusted.certname`.
    Inventory,
}

/// A condition that has no counterpart in PuppetDB.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule cannot be translated: {reason}")]
pub struct UntranslatableRule {
    /// The reason, with the endpoint that can express the condition if there is one.
    pub reason: String,
    /// The condition that cannot be translated.
    pub condition: Value,
}

/// A translated condition.
enum TranslatedQuery {
    Everything,
    Nothing,
    Some(Value),
}

pub(super) fn translate(
    rule: &NodeGroupRule,
    format: QueryFormat,
) -> Result<Value, UntranslatableRule> {
    Ok(match translate_condition(rule, format)? {
        TranslatedQuery::Some(query) => query,
        TranslatedQuery::Everything => json!(["~", "certname", ".*"]),
        TranslatedQuery::Nothing => json!(["not", ["~", "certname", ".*"]]),
    })
}

fn translate_condition(
    rule: &NodeGroupRule,
    format: QueryFormat,
) -> Result<TranslatedQuery, UntranslatableRule> {
    match rule {
        rule if *rule == NodeGroupRule::match_all() => Ok(TranslatedQuery::Everything),
        NodeGroupRule::And(conditions) => translate_and(conditions, format),
        NodeGroupRule::Or(conditions) => translate_or(conditions, format),
        NodeGroupRule::Not(inner) => Ok(match translate_condition(inner, format)? {
            TranslatedQuery::Everything => TranslatedQuery::Nothing,
            TranslatedQuery::Nothing => TranslatedQuery::Everything,
            TranslatedQuery::Some(query) => TranslatedQuery::Some(json!(["not", query])),
        }),
        NodeGroupRule::Compare(comparison) => {
            translate_comparison(comparison, format).map(TranslatedQuery::Some)
        }
    }
}

fn translate_and(
    conditions: &[NodeGroupRule],
    format: QueryFormat,
) -> Result<TranslatedQuery, UntranslatableRule> {
    let mut all = Vec::with_capacity(conditions.len());
    let mut never = false;
    for rule in conditions {
        match translate_condition(rule, format)? {
            TranslatedQuery::Everything => {}
            TranslatedQuery::Nothing => never = true,
            TranslatedQuery::Some(query) => all.push(query),
        }
    }
    if never {
        return Ok(TranslatedQuery::Nothing);
    }
    Ok(join("and", all).map_or(TranslatedQuery::Everything, TranslatedQuery::Some))
}

fn translate_or(
    conditions: &[NodeGroupRule],
    format: QueryFormat,
) -> Result<TranslatedQuery, UntranslatableRule> {
    let mut any = Vec::new();
    let mut always = false;
    let names: Vec<_> = conditions
        .iter()
        .filter_map(NodeGroupRule::pinned_name)
        .collect();
    match names.as_slice() {
        [] => {}
        [name] => any.push(json!(["=", "certname", name])),
        names => any.push(json!(["in", "certname", ["array", names]])),
    }
    for rule in conditions {
        if rule.pinned_name().is_some() {
            continue;
        }
        match translate_condition(rule, format)? {
            TranslatedQuery::Everything => always = true,
            TranslatedQuery::Nothing => {}
            TranslatedQuery::Some(query) => any.push(query),
        }
    }
    if always {
        return Ok(TranslatedQuery::Everything);
    }
    Ok(join("or", any).map_or(TranslatedQuery::Nothing, TranslatedQuery::Some))
}

fn join(word: &str, mut queries: Vec<Value>) -> Option<Value> {
    if queries.len() < 2 {
        return queries.pop();
    }
    let all = std::iter::once(json!(word)).chain(queries);
    Some(Value::Array(all.collect()))
}

fn translate_comparison(
    comparison: &RuleComparison,
    format: QueryFormat,
) -> Result<Value, UntranslatableRule> {
    let refuse = |reason: &str| UntranslatableRule {
        reason: reason.to_owned(),
        condition: NodeGroupRule::Compare(comparison.clone()).to_json(),
    };
    let RuleComparison {
        operator,
        path,
        value,
    } = comparison;
    let field = match (path, format) {
        (FactPath::Name, _) => json!("certname"),
        (FactPath::Fact(steps), QueryFormat::Nodes) => match steps.as_slice() {
            [FactPathStep::Key(name)] => json!(["fact", name]),
            _ => {
                return Err(refuse(
                    "the nodes format does not support structured facts; the inventory format does",
                ));
            }
        },
        (FactPath::Trusted(_), QueryFormat::Nodes) => {
            return Err(refuse(
                "the nodes format does not support trusted facts; the inventory format does",
            ));
        }
        (FactPath::Fact(steps), QueryFormat::Inventory) => {
            json!(to_dotted_path("facts", steps).ok_or_else(quoted_refusal(refuse))?)
        }
        (FactPath::Trusted(steps), QueryFormat::Inventory) => {
            json!(to_dotted_path("trusted", steps).ok_or_else(quoted_refusal(refuse))?)
        }
    };
    let sign = operator.as_str();
    match operator {
        RuleOperator::Match => Ok(json!([sign, field, value])),
        RuleOperator::Equal if *path == FactPath::Name => Ok(json!([sign, field, value])),
        RuleOperator::Equal => {
            let typed = std::iter::once(json!(value)).chain(equal_json_value(value));
            let each = typed.map(|value| json!([sign, field, value])).collect();
            Ok(join("or", each).unwrap_or_default())
        }
        _ if *path == FactPath::Name => Err(refuse("a certname cannot be compared as a number")),
        _ => {
            let number = DecimalNumber::parse(value);
            let number = number.ok_or_else(|| refuse("the value is no number"))?;
            Ok(json!([sign, field, number.to_json()]))
        }
    }
}

fn quoted_refusal(refuse: impl Fn(&str) -> UntranslatableRule) -> impl Fn() -> UntranslatableRule {
    move || refuse("a key has a quotation mark, which PuppetDB cannot be asked for")
}

/// The boolean or number with this text; `None` if there is none.
fn equal_json_value(value: &str) -> Option<Value> {
    match value {
        "true" => Some(json!(true)),
        "false" => Some(json!(false)),
        text => {
            let number: serde_json::Number = serde_json::from_str(text).ok()?;
            (number.to_string() == text).then_some(Value::Number(number))
        }
    }
}

/// `facts.os."a key".list[0]`; `None` if a key cannot be written in this notation.
fn to_dotted_path(root: &str, steps: &[FactPathStep]) -> Option<String> {
    let mut path = root.to_owned();
    for step in steps {
        match step {
            FactPathStep::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            FactPathStep::Key(key) if is_plain(key) => {
                path.push('.');
                path.push_str(key);
            }
            FactPathStep::Key(key) if key.contains('"') => return None,
            FactPathStep::Key(key) => path.extend([".\"", key, "\""]),
        }
    }
    Some(path)
}

fn is_plain(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !key.is_empty() && key.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(rule: Value) -> (Result<Value, String>, Result<Value, String>) {
        let rule = NodeGroupRule::parse(&rule).unwrap();
        let to = |format| rule.to_puppetdb(format).map_err(|error| error.to_string());
        (to(QueryFormat::Nodes), to(QueryFormat::Inventory))
    }

    #[test]
    fn the_documented_example_is_translated_as_documented() {
        let rule = json!([
            "and",
            ["=", ["fact", "is_spaceship"], "true"],
            ["~", "name", ".*"]
        ]);
        let (nodes, inventory) = both(rule);
        let field = json!(["fact", "is_spaceship"]);
        assert_eq!(
            nodes.unwrap(),
            json!(["or", ["=", field, "true"], ["=", field, true]])
        );
        let field = json!("facts.is_spaceship");
        assert_eq!(
            inventory.unwrap(),
            json!(["or", ["=", field, "true"], ["=", field, true]])
        );
    }

    #[test]
    fn structured_and_trusted_facts_go_into_the_inventory_format_only() {
        let (nodes, inventory) = both(json!(["=", ["fact", "os", "family.name", 0], "RedHat"]));
        assert!(nodes.unwrap_err().contains("structured facts"));
        assert_eq!(
            inventory.unwrap(),
            json!(["=", "facts.os.\"family.name\"[0]", "RedHat"])
        );
        let (nodes, inventory) = both(json!(["~", ["trusted", "certname"], "^web"]));
        assert!(nodes.unwrap_err().contains("trusted facts"));
        assert_eq!(inventory.unwrap(), json!(["~", "trusted.certname", "^web"]));
        let (_, inventory) = both(json!(["=", ["fact", "a\"b"], "x"]));
        assert!(inventory.unwrap_err().contains("quotation mark"));
    }

    #[test]
    fn numbers_names_and_constants() {
        let (_, inventory) = both(json!(["not", ["<", ["fact", "uptime_days"], "31"]]));
        assert_eq!(
            inventory.unwrap(),
            json!(["not", ["<", "facts.uptime_days", 31]])
        );
        let (_, inventory) = both(json!(["=", ["fact", "cpus"], "8"]));
        assert_eq!(
            inventory.unwrap(),
            json!(["or", ["=", "facts.cpus", "8"], ["=", "facts.cpus", 8]])
        );
        let (_, inventory) = both(json!([
            "or",
            ["=", "name", "a"],
            ["=", "name", "b"],
            ["~", "name", "c"]
        ]));
        assert_eq!(
            inventory.unwrap(),
            json!([
                "or",
                ["in", "certname", ["array", ["a", "b"]]],
                ["~", "certname", "c"]
            ])
        );
        let (nodes, _) = both(json!([
            "not",
            ["or", ["=", "name", "a"], ["~", "name", ".*"]]
        ]));
        assert_eq!(nodes.unwrap(), json!(["not", ["~", "certname", ".*"]]));
        assert!(both(json!([">", "name", "1"])).0.is_err());
        assert!(both(json!([">", ["fact", "a"], "x"])).1.is_err());
    }
}
