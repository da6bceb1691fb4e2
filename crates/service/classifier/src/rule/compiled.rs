//! A rule compiled for evaluation on many nodes. Main type: [`CompiledGroupRule`].
//!
//! Invariants: the compiled rule has the same result as the rule for every node; a pattern is
//! compiled once; the names pinned to a group are a set, so that 50,000 of them cost one lookup.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regex::Regex;

use super::fact_lookup::find_value;
use super::number::DecimalNumber;
use super::pattern::{self, PatternError};
use super::{FactPath, NodeGroupRule, RuleComparison, RuleOperator};
use crate::{ClassifiedNode, NodeFacts};

/// A rule and its compiled program.
#[derive(Debug)]
pub(crate) struct CompiledGroupRule {
    pub(crate) rule: NodeGroupRule,
    program: RuleProgram,
    patterns: CompiledPatterns,
}

/// The compiled patterns of a rule, by their texts.
type CompiledPatterns = HashMap<String, Regex>;

#[derive(Debug)]
enum RuleProgram {
    Everything,
    And(Vec<RuleProgram>),
    Or(Vec<RuleProgram>),
    Not(Box<RuleProgram>),
    Names(HashSet<Box<str>>),
    Equal(FactPath, Box<str>),
    Match(FactPath, Regex),
    /// A numeric comparison; `None` if the rule's value is not a number.
    Number(FactPath, RuleOperator, Option<DecimalNumber>),
}

// === impl CompiledGroupRule ===

impl CompiledGroupRule {
    pub(crate) fn new(rule: NodeGroupRule) -> Result<Arc<Self>, PatternError> {
        let mut patterns = CompiledPatterns::new();
        let program = compile_program(&rule, &mut patterns)?;
        Ok(Arc::new(Self {
            rule,
            program,
            patterns,
        }))
    }

    pub(crate) fn matches(&self, node: &(impl ClassifiedNode + ?Sized)) -> bool {
        self.program.matches(node)
    }

    /// Returns `true` if this comparison of the rule holds for the node.
    pub(super) fn holds(&self, comparison: &RuleComparison, node: &NodeFacts) -> bool {
        let Some(text) = find_value(node, &comparison.path).to_text() else {
            return false;
        };
        match comparison.operator {
            RuleOperator::Equal => *text == *comparison.value,
            RuleOperator::Match => {
                let pattern = self.patterns.get(&comparison.value);
                pattern.is_some_and(|pattern| pattern.is_match(&text))
            }
            operator => compare_numbers(operator, &text, DecimalNumber::parse(&comparison.value)),
        }
    }
}

fn compile_program(
    rule: &NodeGroupRule,
    patterns: &mut CompiledPatterns,
) -> Result<RuleProgram, PatternError> {
    let several = |conditions: &[NodeGroupRule], patterns: &mut CompiledPatterns| {
        let each = conditions.iter();
        each.map(|condition| compile_program(condition, patterns))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match rule {
        NodeGroupRule::And(conditions) => RuleProgram::And(several(conditions, patterns)?),
        NodeGroupRule::Or(conditions) => {
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
                alternatives.push(RuleProgram::Names(names));
            }
            for condition in rest {
                alternatives.push(compile_program(condition, patterns)?);
            }
            RuleProgram::Or(alternatives)
        }
        NodeGroupRule::Not(condition) => {
            RuleProgram::Not(Box::new(compile_program(condition, patterns)?))
        }
        NodeGroupRule::Compare(comparison) => {
            // The result is discarded, but explanations need every compiled pattern.
            let compiled = compile_comparison(comparison, patterns)?;
            match *rule == NodeGroupRule::match_all() {
                true => RuleProgram::Everything,
                false => compiled,
            }
        }
    })
}

fn compile_comparison(
    comparison: &RuleComparison,
    patterns: &mut CompiledPatterns,
) -> Result<RuleProgram, PatternError> {
    let RuleComparison {
        operator,
        path,
        value,
    } = comparison;
    Ok(match operator {
        RuleOperator::Equal => RuleProgram::Equal(path.clone(), value.as_str().into()),
        RuleOperator::Match => {
            let pattern = match patterns.get(value) {
                Some(pattern) => pattern.clone(),
                None => {
                    let pattern = pattern::compile(value)?;
                    patterns.insert(value.clone(), pattern.clone());
                    pattern
                }
            };
            RuleProgram::Match(path.clone(), pattern)
        }
        operator => RuleProgram::Number(path.clone(), *operator, DecimalNumber::parse(value)),
    })
}

impl RuleProgram {
    fn matches(&self, node: &(impl ClassifiedNode + ?Sized)) -> bool {
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
                text(path).is_some_and(|text| compare_numbers(*operator, &text, *number))
            }
        }
    }
}

fn compare_numbers(operator: RuleOperator, text: &str, number: Option<DecimalNumber>) -> bool {
    let (Some(text), Some(number)) = (DecimalNumber::parse(text), number) else {
        return false;
    };
    let Some(order) = text.compare(number) else {
        return false;
    };
    match operator {
        RuleOperator::Greater => order == Ordering::Greater,
        RuleOperator::GreaterOrEqual => order != Ordering::Less,
        RuleOperator::Less => order == Ordering::Less,
        RuleOperator::LessOrEqual => order != Ordering::Greater,
        RuleOperator::Equal | RuleOperator::Match => false,
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
            ..NodeFacts::without_facts("web1".parse().unwrap())
        };
        let rule = NodeGroupRule::parse(&rule).unwrap();
        CompiledGroupRule::new(rule).unwrap().matches(&node)
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
