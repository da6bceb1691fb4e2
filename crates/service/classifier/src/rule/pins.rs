//! Nodes pinned to a group: `["or", ["=", "name", NODE], …, the rest of the rule]`.
//!
//! Invariant: pinning and unpinning change only the result for the named nodes; the rest of the
//! rule is unchanged.

use std::collections::HashSet;

use super::{FactPath, NodeGroupRule, RuleComparison, RuleOperator};

impl NodeGroupRule {
    /// The certname that this condition pins; `None` if the condition is not a pin.
    pub(crate) fn pinned_name(&self) -> Option<&str> {
        match self {
            Self::Compare(RuleComparison {
                operator: RuleOperator::Equal,
                path: FactPath::Name,
                value,
            }) => Some(value),
            _ => None,
        }
    }

    /// The pinned nodes, in the order of the rule.
    pub fn pinned_names(&self) -> Vec<&str> {
        match self {
            Self::Or(conditions) => conditions.iter().filter_map(Self::pinned_name).collect(),
            other => other.pinned_name().into_iter().collect(),
        }
    }

    /// The rule with more nodes pinned; with `None` the rule matches only the pinned nodes.
    #[must_use]
    pub(crate) fn pin(rule: Option<Self>, names: &[String]) -> Self {
        let conditions = match rule {
            None => Vec::new(),
            Some(Self::Or(conditions)) => conditions,
            Some(other) => vec![other],
        };
        let (mut pins, rest): (Vec<_>, Vec<_>) = conditions
            .into_iter()
            .partition(|condition| condition.pinned_name().is_some());
        let mut known: HashSet<String> = pins
            .iter()
            .filter_map(Self::pinned_name)
            .map(str::to_owned)
            .collect();
        let new = names.iter().filter(|name| known.insert((*name).clone()));
        pins.extend(new.map(|name| Self::pin_rule(name)));
        pins.extend(rest);
        Self::Or(pins)
    }

    /// The rule without these pins; `None` if nothing else is left.
    #[must_use]
    pub(crate) fn unpin(self, names: &HashSet<&str>) -> Option<Self> {
        let unpinned = |rule: &Self| rule.pinned_name().is_some_and(|name| names.contains(name));
        match self {
            Self::Or(mut conditions) => {
                let before = conditions.len();
                conditions.retain(|condition| !unpinned(condition));
                match conditions.len() {
                    0 => None,
                    1 if before > 1 && conditions[0].pinned_name().is_none() => conditions.pop(),
                    _ => Some(Self::Or(conditions)),
                }
            }
            other if unpinned(&other) => None,
            other => Some(other),
        }
    }

    fn pin_rule(name: &str) -> Self {
        Self::Compare(RuleComparison {
            operator: RuleOperator::Equal,
            path: FactPath::Name,
            value: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pin(rule: Value, names: &[&str]) -> Value {
        let rule = (!rule.is_null()).then(|| NodeGroupRule::parse(&rule).unwrap());
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        NodeGroupRule::pin(rule, &names).to_json()
    }

    fn unpin(rule: Value, names: &[&str]) -> Value {
        let rule = NodeGroupRule::parse(&rule).unwrap();
        let left = rule.unpin(&names.iter().copied().collect());
        left.map_or(Value::Null, |rule| rule.to_json())
    }

    #[test]
    fn pins_stand_before_the_rest_and_go_away_again() {
        let dynamic = json!(["=", ["fact", "kernel"], "Linux"]);
        let pinned = json!(["or", ["=", "name", "a"], ["=", "name", "b"], dynamic]);
        assert_eq!(pin(dynamic.clone(), &["a", "b", "a"]), pinned);
        assert_eq!(pin(json!(null), &["a"]), json!(["or", ["=", "name", "a"]]));
        assert_eq!(pin(pinned.clone(), &["a"]), pinned, "twice is once");
        assert_eq!(unpin(pinned.clone(), &["a", "b", "x"]), dynamic);
        assert_eq!(unpin(pinned.clone(), &["x"]), pinned);
        assert_eq!(
            unpin(json!(["or", ["=", "name", "a"]]), &["a"]),
            json!(null)
        );
        assert_eq!(unpin(json!(["=", "name", "a"]), &["a"]), json!(null));
        let negated = json!(["not", ["=", "name", "a"]]);
        assert_eq!(unpin(negated.clone(), &["a"]), negated);
        let both = json!(["or", ["=", "name", "a"], ["=", "name", "b"]]);
        assert_eq!(unpin(both, &["b"]), json!(["or", ["=", "name", "a"]]));
    }

    #[test]
    fn only_conditions_on_the_name_at_the_top_are_pins() {
        let rule = json!([
            "or",
            ["=", "name", "a"],
            ["~", "name", "b"],
            ["and", ["=", "name", "c"]]
        ]);
        assert_eq!(NodeGroupRule::parse(&rule).unwrap().pinned_names(), ["a"]);
    }
}
