//! Parses rules. Main function: [`parse`].
//!
//! Invariant: an error contains its position in the JSON (`rule[2][1]`), and the memory and stack
//! in use stay bounded for input of any depth and size.

use serde_json::Value;

use super::pattern::{self, PatternError};
use super::{FactPath, FactPathStep, NodeGroupRule, RuleComparison, RuleOperator};
use crate::defaults::{PATH_STEPS, RULE_CONDITIONS, RULE_DEPTH, RULE_PATTERNS, RULE_TEXT_BYTES};

/// The input is not a valid rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct RuleError {
    /// Position in the JSON, for example `rule[2][1]`.
    pub place: String,
    /// Description of the defect and of the expected value.
    pub what: String,
}

pub(super) fn parse(json: &Value) -> Result<NodeGroupRule, RuleError> {
    let mut parser = RuleParser {
        position: Vec::new(),
        conditions: 0,
        patterns: 0,
    };
    parser.parse_condition(json)
}

struct RuleParser {
    /// Array indices that lead to the current position.
    position: Vec<usize>,
    conditions: usize,
    patterns: usize,
}

impl RuleParser {
    fn parse_condition(&mut self, json: &Value) -> Result<NodeGroupRule, RuleError> {
        self.conditions += 1;
        if self.conditions > RULE_CONDITIONS {
            let what = format!("a rule has at most {RULE_CONDITIONS} conditions");
            return Err(self.error(what));
        }
        if self.position.len() >= RULE_DEPTH {
            let what = format!("conditions are nested at most {RULE_DEPTH} levels deep");
            return Err(self.error(what));
        }
        let Value::Array(parts) = json else {
            let what = format!(
                "{} is no condition: an array such as [\"=\", [\"fact\", \"kernel\"], \"Linux\"] is expected",
                json_type_name(json)
            );
            return Err(self.error(what));
        };
        let Some((head, rest)) = parts.split_first() else {
            return Err(self.error("a condition cannot be empty"));
        };
        let Value::String(word) = head else {
            let what = format!(
                "{} is no operator; `and`, `or`, `not`, `=`, `~`, `>`, `>=`, `<` or `<=` is expected",
                json_type_name(head)
            );
            return self.with_position(0, |parser| Err(parser.error(what)));
        };
        match word.as_str() {
            "and" => Ok(NodeGroupRule::And(self.parse_conditions(rest)?)),
            "or" => Ok(NodeGroupRule::Or(self.parse_conditions(rest)?)),
            "not" => self.parse_negation(rest),
            sign => {
                let operator = RuleOperator::ALL.iter().find(|(known, _)| *known == sign);
                let Some((_, operator)) = operator else {
                    let what = format!(
                        "{} is no operator; `and`, `or`, `not`, `=`, `~`, `>`, `>=`, `<` or `<=` is expected",
                        quote_short(sign)
                    );
                    return self.with_position(0, |parser| Err(parser.error(what)));
                };
                self.parse_comparison(*operator, rest)
            }
        }
    }

    fn parse_conditions(&mut self, rest: &[Value]) -> Result<Vec<NodeGroupRule>, RuleError> {
        if rest.is_empty() {
            return Err(self.error("`and` and `or` need at least one condition after them"));
        }
        let each = rest.iter().enumerate();
        each.map(|(index, json)| {
            self.with_position(index + 1, |parser| parser.parse_condition(json))
        })
        .collect()
    }

    fn parse_negation(&mut self, rest: &[Value]) -> Result<NodeGroupRule, RuleError> {
        let [json] = rest else {
            let what = format!("`not` takes one condition, not {}", rest.len());
            return Err(self.error(what));
        };
        let inner = self.with_position(1, |parser| parser.parse_condition(json))?;
        Ok(NodeGroupRule::Not(Box::new(inner)))
    }

    fn parse_comparison(
        &mut self,
        operator: RuleOperator,
        rest: &[Value],
    ) -> Result<NodeGroupRule, RuleError> {
        let [path, value] = rest else {
            let what = format!(
                "`{}` takes a path and a value, not {} parts",
                operator.as_str(),
                rest.len()
            );
            return Err(self.error(what));
        };
        let path = self.with_position(1, |parser| parser.parse_path(path))?;
        let value = self.with_position(2, |parser| parser.parse_value(operator, value))?;
        Ok(NodeGroupRule::Compare(RuleComparison {
            operator,
            path,
            value,
        }))
    }

    fn parse_value(&mut self, operator: RuleOperator, json: &Value) -> Result<String, RuleError> {
        let Value::String(text) = json else {
            let what = format!(
                "{} is no value: values are texts, also of numbers and booleans (\"512\", \"true\")",
                json_type_name(json)
            );
            return Err(self.error(what));
        };
        self.check_length(text)?;
        if operator == RuleOperator::Match {
            self.patterns += 1;
            if self.patterns > RULE_PATTERNS {
                let what = format!("a rule has at most {RULE_PATTERNS} patterns");
                return Err(self.error(what));
            }
            pattern::compile(text).map_err(|error: PatternError| self.error(error.to_string()))?;
        }
        Ok(text.clone())
    }

    fn parse_path(&mut self, json: &Value) -> Result<FactPath, RuleError> {
        const EXPECTED: &str = "`\"name\"`, `[\"fact\", …]` or `[\"trusted\", …]` is expected";
        let parts = match json {
            Value::String(name) if name == "name" => return Ok(FactPath::Name),
            Value::Array(parts) => parts,
            Value::String(other) => {
                let what = format!("{} is no path; {EXPECTED}", quote_short(other));
                return Err(self.error(what));
            }
            other => {
                return Err(self.error(format!("{} is no path; {EXPECTED}", json_type_name(other))));
            }
        };
        let Some((head, steps)) = parts.split_first() else {
            return Err(self.error(format!("a path cannot be empty; {EXPECTED}")));
        };
        let make = match head.as_str() {
            Some("fact") => FactPath::Fact,
            Some("trusted") => FactPath::Trusted,
            _ => {
                let what = "a path begins with `fact` or `trusted`";
                return self.with_position(0, |parser| Err(parser.error(what)));
            }
        };
        if steps.is_empty() || steps.len() > PATH_STEPS {
            let what = format!("after `fact` or `trusted` come 1 to {PATH_STEPS} keys or indices");
            return Err(self.error(what));
        }
        let steps = steps.iter().enumerate();
        let steps: Result<Vec<_>, _> = steps
            .map(|(index, json)| {
                self.with_position(index + 1, |parser| parser.parse_step(json, index == 0))
            })
            .collect();
        Ok(make(steps?))
    }

    fn parse_step(&mut self, json: &Value, first: bool) -> Result<FactPathStep, RuleError> {
        match json {
            Value::String(key) => {
                self.check_length(key)?;
                Ok(FactPathStep::Key(key.clone()))
            }
            Value::Number(_) if first => Err(self.error("the first key is a text: a fact's name")),
            Value::Number(number) => {
                let index = number.as_u64().and_then(|index| u32::try_from(index).ok());
                let what = format!("{number} is no index: a whole number from 0 is expected");
                index
                    .map(FactPathStep::Index)
                    .ok_or_else(|| self.error(what))
            }
            other => Err(self.error(format!(
                "{} is neither a key nor an index",
                json_type_name(other)
            ))),
        }
    }

    fn check_length(&self, text: &str) -> Result<(), RuleError> {
        if text.len() > RULE_TEXT_BYTES {
            let what = format!("a text in a rule has at most {RULE_TEXT_BYTES} bytes");
            return Err(self.error(what));
        }
        Ok(())
    }

    /// Runs a function one nesting level deeper.
    fn with_position<T>(
        &mut self,
        index: usize,
        what: impl FnOnce(&mut Self) -> Result<T, RuleError>,
    ) -> Result<T, RuleError> {
        self.position.push(index);
        let done = what(self);
        self.position.pop();
        done
    }

    fn error(&self, what: impl Into<String>) -> RuleError {
        let indices = self.position.iter().map(|index| format!("[{index}]"));
        RuleError {
            place: std::iter::once("rule".to_owned()).chain(indices).collect(),
            what: what.into(),
        }
    }
}

fn json_type_name(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The beginning of a possibly hostile text, quoted.
fn quote_short(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(json: Value) -> String {
        parse(&json).expect_err("no rule").to_string()
    }

    #[test]
    fn every_form_of_the_grammar_is_read_and_written_back() {
        for rule in [
            json!(["=", "name", "web1"]),
            json!(["~", ["trusted", "certname"], "^www\\d+"]),
            json!([">=", ["fact", "memory", "system", "total_bytes"], "512"]),
            json!(["<", ["fact", "mountpoints", 0, "size"], "1.5e3"]),
            json!(["not", ["<=", ["fact", "uptime_days"], "31"]]),
            json!(["or", ["=", "name", "a"], ["and", [">", ["fact", "x"], "1"]]]),
        ] {
            let read = parse(&rule).unwrap();
            assert_eq!(read.to_json(), rule);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (rule, place) in [
            (json!(null), "rule: null is no condition"),
            (json!({}), "rule: an object is no condition"),
            (json!([]), "rule: a condition cannot be empty"),
            (json!([1, 2]), "rule[0]: a number is no operator"),
            (
                json!(["xor", ["=", "name", "a"]]),
                "rule[0]: \"xor\" is no operator",
            ),
            (json!(["and"]), "rule: `and` and `or` need"),
            (
                json!(["and", ["=", "name", "a"], "b"]),
                "rule[2]: a text is no condition",
            ),
            (json!(["not"]), "rule: `not` takes one condition, not 0"),
            (
                json!(["not", ["not", []]]),
                "rule[1][1]: a condition cannot be empty",
            ),
            (
                json!(["=", "name"]),
                "rule: `=` takes a path and a value, not 1",
            ),
            (json!(["=", "name", 5]), "rule[2]: a number is no value"),
            (json!(["=", "os", "x"]), "rule[1]: \"os\" is no path"),
            (json!(["=", 5, "x"]), "rule[1]: a number is no path"),
            (json!(["=", [], "x"]), "rule[1]: a path cannot be empty"),
            (json!(["=", ["fact"], "x"]), "rule[1]: after `fact`"),
            (
                json!(["=", ["facts", "a"], "x"]),
                "rule[1][0]: a path begins",
            ),
            (
                json!(["=", ["fact", 0], "x"]),
                "rule[1][1]: the first key is a text",
            ),
            (
                json!(["=", ["fact", "a", -1], "x"]),
                "rule[1][2]: -1 is no index",
            ),
            (
                json!(["=", ["fact", "a", null], "x"]),
                "rule[1][2]: null is neither",
            ),
            (json!(["~", "name", "("]), "rule[2]: "),
        ] {
            let text = refused(rule.clone());
            assert!(text.starts_with(place), "{rule}: {text}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let mut deep = json!(["=", "name", "a"]);
        for _ in 0..RULE_DEPTH {
            deep = json!(["not", deep]);
        }
        assert!(refused(deep).contains("levels deep"));
        let long = "x".repeat(RULE_TEXT_BYTES + 1);
        assert!(refused(json!(["=", "name", long])).contains("at most"));
        let steps: Vec<_> = std::iter::repeat_n("fact", PATH_STEPS + 2).collect();
        assert!(refused(json!(["=", steps, "x"])).contains("keys or indices"));
        let mut many = vec![json!("or")];
        many.resize(RULE_CONDITIONS + 1, json!(["=", "name", "a"]));
        assert!(refused(Value::Array(many)).contains("at most"));
    }
}
