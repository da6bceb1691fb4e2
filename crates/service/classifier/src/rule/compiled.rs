//! A rule compiled for evaluation on many nodes. Main type: [`Compiled`].
//!
//! Invariants: the compiled rule has the same result as the rule for every node; a pattern is
//! compiled once; the names pinned to a group are a set, so that 50,000 of them cost one lookup.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regex::Regex;

use super::number::Number;
use super::pattern::{self, PatternError};
use super::text::find;
use super::{Comparison, Operator, Path, Rule};
use crate::{NodeFacts, Subject};

/// A rule and its compiled program.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) rule: Rule,
    program: Program,
    patterns: Patterns,
}

/// The compiled patterns of a rule, by their texts.
type Patterns = HashMap<String, Regex>;

#[derive(Debug)]
enum Program {
    Everything,
    And(Vec<Program>),
    Or(Vec<Program>),
    Not(Box<Program>),
    Names(HashSet<Box<str>>),
    Equal(Path, Box<str>),
    Match(Path, Regex),
    /// A numeric comparison; `None` if the rule's value is not a number.
    Number(Path, Operator, Option<Number>),
}

// === impl Compiled ===

impl Compiled {
    pub(crate) fn new(rule: Rule) -> Result<Arc<Self>, PatternError> {
        let mut patterns = Patterns::new();
        let program = program(&rule, &mut patterns)?;
        Ok(Arc::new(Self {
            rule,
            program,
            patterns,
        }))
    }

    pub(crate) fn matches(&self, node: &(impl Subject + ?Sized)) -> bool {
        self.program.matches(node)
    }

    /// Returns `true` if this comparison of the rule holds for the node.
    pub(super) fn holds(&self, comparison: &Comparison, node: &NodeFacts) -> bool {
        let Some(text) = find(node, &comparison.path).text() else {
            return false;
        };
        match comparison.operator {
            Operator::Equal => *text == *comparison.value,
            Operator::Match => {
                let pattern = self.patterns.get(&comparison.value);
                pattern.is_some_and(|pattern| pattern.is_match(&text))
            }
            operator => in_order(operator, &text, Number::parse(&comparison.value)),
        }
    }
}

fn program(rule: &Rule, patterns: &mut Patterns) -> Result<Program, PatternError> {
    let several = |conditions: &[Rule], patterns: &mut Patterns| {
        let each = conditions.iter();
        each.map(|condition| program(condition, patterns))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match rule {
        Rule::And(conditions) => Program::And(several(conditions, patterns)?),
        Rule::Or(conditions) => {
            let (names, rest): (Vec<_>, Vec<_>) = conditions
                .iter()
                .partition(|condition| condition.pinned_name().is_some());
            let names: HashSet<_> = names
                .iter()
                .filter_map(|name| name.pinned_name())
                .map(Box::from)
                .collect();
            let mut alternatives = Vec::with_capacity(rest.len() + 1);
            if !names.is_empty() {
                alternatives.push(Program::Names(names));
            }
            for condition in rest {
                alternatives.push(program(condition, patterns)?);
            }
            Program::Or(alternatives)
        }
        Rule::Not(condition) => Program::Not(Box::new(program(condition, patterns)?)),
        Rule::Compare(comparison) => {
            // The result is discarded, but explanations need every compiled pattern.
            let compiled = compare(comparison, patterns)?;
            match *rule == Rule::everything() {
                true => Program::Everything,
                false => compiled,
            }
        }
    })
}

fn compare(comparison: &Comparison, patterns: &mut Patterns) -> Result<Program, PatternError> {
    let Comparison {
        operator,
        path,
        value,
    } = comparison;
    Ok(match operator {
        Operator::Equal => Program::Equal(path.clone(), value.as_str().into()),
        Operator::Match => {
            let pattern = match patterns.get(value) {
                Some(pattern) => pattern.clone(),
                None => {
                    let pattern = pattern::compile(value)?;
                    patterns.insert(value.clone(), pattern.clone());
                    pattern
                }
            };
            Program::Match(path.clone(), pattern)
        }
        operator => Program::Number(path.clone(), *operator, Number::parse(value)),
    })
}

impl Program {
    fn matches(&self, node: &(impl Subject + ?Sized)) -> bool {
        let text = |path| node.text(path);
        match self {
            Self::Everything => true,
            Self::And(all) => all.iter().all(|one| one.matches(node)),
            Self::Or(any) => any.iter().any(|one| one.matches(node)),
            Self::Not(one) => !one.matches(node),
            Self::Names(names) => names.contains(node.certname().as_str()),
            Self::Equal(path, value) => text(path).is_some_and(|text| *text == **value),
            Self::Match(path, pattern) => text(path).is_some_and(|text| pattern.is_match(&text)),
            Self::Number(path, operator, number) => {
                text(path).is_some_and(|text| in_order(*operator, &text, *number))
            }
        }
    }
}

fn in_order(operator: Operator, text: &str, number: Option<Number>) -> bool {
    let (Some(text), Some(number)) = (Number::parse(text), number) else {
        return false;
    };
    let Some(order) = text.compare(number) else {
        return false;
    };
    match operator {
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Equal | Operator::Match => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn matches(rule: Value, fact: Value) -> bool {
        let node = NodeFacts {
            fact,
            trusted: json!({"certname": "web1", "extensions": {"pp_role": "web"}}),
            ..NodeFacts::named("web1".parse().unwrap())
        };
        let rule = Rule::parse(&rule).unwrap();
        Compiled::new(rule).unwrap().matches(&node)
    }

    #[test]
    fn facts_are_compared_as_texts_whatever_their_type() {
        let fact =
            json!({"a": true, "n": 8, "f": 1.5, "s": "x", "z": null, "list": ["p", {"q": 1}]});
        let yes = [
            json!(["=", ["fact", "a"], "true"]),
            json!(["=", ["fact", "n"], "8"]),
            json!(["=", ["fact", "f"], "1.5"]),
            json!(["=", ["fact", "list", 0], "p"]),
            json!(["=", ["fact", "list", 1, "q"], "1"]),
            json!([">", ["fact", "n"], "7.5"]),
            json!([">=", ["fact", "n"], "8"]),
            json!(["<=", ["fact", "n"], "8"]),
            json!(["<", ["fact", "f"], "2"]),
            json!(["~", ["fact", "s"], "^x$"]),
            json!(["=", "name", "web1"]),
            json!(["~", ["trusted", "extensions", "pp_role"], "we"]),
            json!(["not", ["=", ["fact", "absent"], ""]]),
        ];
        for rule in yes {
            assert!(matches(rule.clone(), fact.clone()), "{rule}");
        }
        let no = [
            json!(["=", ["fact", "n"], "8.0"]),
            json!(["=", ["fact", "absent"], ""]),
            json!(["=", ["fact", "z"], "null"]),
            json!(["~", ["fact", "z"], ".*"]),
            json!(["~", ["fact", "list"], ".*"]),
            json!(["=", ["fact", "list", "0"], "p"]),
            json!(["=", ["fact", "list", 9], "p"]),
            json!(["=", ["fact", "s", "deeper"], "x"]),
            json!([">", ["fact", "s"], "1"]),
            json!(["<", ["fact", "s"], "1"]),
            json!([">", ["fact", "n"], "x"]),
            json!(["=", ["trusted", "s"], "x"]),
        ];
        for rule in no {
            assert!(!matches(rule.clone(), fact.clone()), "{rule}");
        }
    }

    #[test]
    fn pinned_names_and_other_conditions_are_alternatives() {
        let rule = json!([
            "or",
            ["=", "name", "a"],
            ["=", ["fact", "x"], "1"],
            ["=", "name", "web1"]
        ]);
        assert!(matches(rule, json!({})));
        let rule = json!(["or", ["=", "name", "a"], ["=", ["fact", "x"], "1"]]);
        assert!(matches(rule.clone(), json!({"x": 1})));
        assert!(!matches(rule, json!({"x": 2})));
        let both = json!(["and", ["=", "name", "web1"], ["not", ["~", "name", "^web"]]]);
        assert!(!matches(both, json!({})));
    }
}
