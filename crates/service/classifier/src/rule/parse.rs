//! Parses rules. Main function: [`parse`].
//!
//! Invariant: an error contains its position in the JSON (`rule[2][1]`), and the memory and stack
//! in use stay bounded for input of any depth and size.

use serde_json::Value;

use super::pattern::{self, PatternError};
use super::{Comparison, Operator, Path, Rule, Step};
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

pub(super) fn parse(json: &Value) -> Result<Rule, RuleError> {
    let mut parser = Parser {
        place: Vec::new(),
        conditions: 0,
        patterns: 0,
    };
    parser.condition(json)
}

struct Parser {
    /// Array indices that lead to the current position.
    place: Vec<usize>,
    conditions: usize,
    patterns: usize,
}

impl Parser {
    fn condition(&mut self, json: &Value) -> Result<Rule, RuleError> {
        self.conditions += 1;
        if self.conditions > RULE_CONDITIONS {
            let what = format!("a rule has at most {RULE_CONDITIONS} conditions");
            return Err(self.error(what));
        }
        if self.place.len() >= RULE_DEPTH {
            let what = format!("conditions are nested at most {RULE_DEPTH} levels deep");
            return Err(self.error(what));
        }
        let Value::Array(parts) = json else {
            let what = format!(
                "{} is no condition: an array such as [\"=\", [\"fact\", \"kernel\"], \"Linux\"] is expected",
                kind(json)
            );
            return Err(self.error(what));
        };
        let Some((head, rest)) = parts.split_first() else {
            return Err(self.error("a condition cannot be empty"));
        };
        let Value::String(word) = head else {
            let what = format!(
                "{} is no operator; `and`, `or`, `not`, `=`, `~`, `>`, `>=`, `<` or `<=` is expected",
                kind(head)
            );
            return self.at(0, |parser| Err(parser.error(what)));
        };
        match word.as_str() {
            "and" => Ok(Rule::And(self.several(rest)?)),
            "or" => Ok(Rule::Or(self.several(rest)?)),
            "not" => self.negation(rest),
            sign => {
                let operator = Operator::ALL.iter().find(|(known, _)| *known == sign);
                let Some((_, operator)) = operator else {
                    let what = format!(
                        "{} is no operator; `and`, `or`, `not`, `=`, `~`, `>`, `>=`, `<` or `<=` is expected",
                        shown(sign)
                    );
                    return self.at(0, |parser| Err(parser.error(what)));
                };
                self.comparison(*operator, rest)
            }
        }
    }

    fn several(&mut self, rest: &[Value]) -> Result<Vec<Rule>, RuleError> {
        if rest.is_empty() {
            return Err(self.error("`and` and `or` need at least one condition after them"));
        }
        let each = rest.iter().enumerate();
        each.map(|(index, json)| self.at(index + 1, |parser| parser.condition(json)))
            .collect()
    }

    fn negation(&mut self, rest: &[Value]) -> Result<Rule, RuleError> {
        let [json] = rest else {
            let what = format!("`not` takes one condition, not {}", rest.len());
            return Err(self.error(what));
        };
        let inner = self.at(1, |parser| parser.condition(json))?;
        Ok(Rule::Not(Box::new(inner)))
    }

    fn comparison(&mut self, operator: Operator, rest: &[Value]) -> Result<Rule, RuleError> {
        let [path, value] = rest else {
            let what = format!(
                "`{}` takes a path and a value, not {} parts",
                operator.sign(),
                rest.len()
            );
            return Err(self.error(what));
        };
        let path = self.at(1, |parser| parser.path(path))?;
        let value = self.at(2, |parser| parser.value(operator, value))?;
        Ok(Rule::Compare(Comparison {
            operator,
            path,
            value,
        }))
    }

    fn value(&mut self, operator: Operator, json: &Value) -> Result<String, RuleError> {
        let Value::String(text) = json else {
            let what = format!(
                "{} is no value: values are texts, also of numbers and booleans (\"512\", \"true\")",
                kind(json)
            );
            return Err(self.error(what));
        };
        self.short_enough(text)?;
        if operator == Operator::Match {
            self.patterns += 1;
            if self.patterns > RULE_PATTERNS {
                let what = format!("a rule has at most {RULE_PATTERNS} patterns");
                return Err(self.error(what));
            }
            pattern::compile(text).map_err(|error: PatternError| self.error(error.to_string()))?;
        }
        Ok(text.clone())
    }

    fn path(&mut self, json: &Value) -> Result<Path, RuleError> {
        const EXPECTED: &str = "`\"name\"`, `[\"fact\", …]` or `[\"trusted\", …]` is expected";
        let parts = match json {
            Value::String(name) if name == "name" => return Ok(Path::Name),
            Value::Array(parts) => parts,
            Value::String(other) => {
                let what = format!("{} is no path; {EXPECTED}", shown(other));
                return Err(self.error(what));
            }
            other => return Err(self.error(format!("{} is no path; {EXPECTED}", kind(other)))),
        };
        let Some((head, steps)) = parts.split_first() else {
            return Err(self.error(format!("a path cannot be empty; {EXPECTED}")));
        };
        let make = match head.as_str() {
            Some("fact") => Path::Fact,
            Some("trusted") => Path::Trusted,
            _ => {
                let what = "a path begins with `fact` or `trusted`";
                return self.at(0, |parser| Err(parser.error(what)));
            }
        };
        if steps.is_empty() || steps.len() > PATH_STEPS {
            let what = format!("after `fact` or `trusted` come 1 to {PATH_STEPS} keys or indices");
            return Err(self.error(what));
        }
        let steps = steps.iter().enumerate();
        let steps: Result<Vec<_>, _> = steps
            .map(|(index, json)| self.at(index + 1, |parser| parser.step(json, index == 0)))
            .collect();
        Ok(make(steps?))
    }

    fn step(&mut self, json: &Value, first: bool) -> Result<Step, RuleError> {
        match json {
            Value::String(key) => {
                self.short_enough(key)?;
                Ok(Step::Key(key.clone()))
            }
            Value::Number(_) if first => Err(self.error("the first key is a text: a fact's name")),
            Value::Number(number) => {
                let index = number.as_u64().and_then(|index| u32::try_from(index).ok());
                let what = format!("{number} is no index: a whole number from 0 is expected");
                index.map(Step::Index).ok_or_else(|| self.error(what))
            }
            other => Err(self.error(format!("{} is neither a key nor an index", kind(other)))),
        }
    }

    fn short_enough(&self, text: &str) -> Result<(), RuleError> {
        if text.len() > RULE_TEXT_BYTES {
            let what = format!("a text in a rule has at most {RULE_TEXT_BYTES} bytes");
            return Err(self.error(what));
        }
        Ok(())
    }

    /// Runs a function one nesting level deeper.
    fn at<T>(
        &mut self,
        index: usize,
        what: impl FnOnce(&mut Self) -> Result<T, RuleError>,
    ) -> Result<T, RuleError> {
        self.place.push(index);
        let done = what(self);
        self.place.pop();
        done
    }

    fn error(&self, what: impl Into<String>) -> RuleError {
        let indices = self.place.iter().map(|index| format!("[{index}]"));
        RuleError {
            place: std::iter::once("rule".to_owned()).chain(indices).collect(),
            what: what.into(),
        }
    }
}

fn kind(json: &Value) -> &'static str {
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
fn shown(text: &str) -> String {
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
