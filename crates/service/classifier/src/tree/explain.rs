//! Why a node is classified as it is: [`Tree::explain`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Tree;
use super::classify::{Classification, Conflict};
use super::inherited::{plain, plain_classes};
use super::merge::{Merged, MergedClasses, MergedParameters, Word};
use crate::NodeFacts;
use crate::group::{Classes, Group, GroupId, Parameters};
use crate::rule::explain;

/// Everything that led to a classification.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// For each group that the node belongs to: its rule with every value and result.
    pub matches: BTreeMap<GroupId, Value>,
    /// Those that are no ancestors of others.
    pub leaves: Vec<Arc<Group>>,
    /// What each leaf gives, with what it inherits.
    pub inherited: BTreeMap<GroupId, Gift>,
    /// What the node gets, or why it gets nothing.
    pub outcome: Result<Classification, Box<Conflict>>,
    /// For each value that the node gets: the value, and the ids of the groups that define it.
    pub sources: Value,
}

/// What a leaf group gives.
#[derive(Clone, Debug)]
pub struct Gift {
    /// The environment's name, as the group has it.
    pub environment: String,
    /// Classes.
    pub classes: Classes,
    /// Configuration data.
    pub config_data: Classes,
    /// Variables.
    pub variables: Parameters,
}

impl Tree {
    pub(crate) fn explain(&self, node: &NodeFacts) -> Explanation {
        let members = self.members(node);
        let leaves = self.leaves(&members);
        let merged = Merged::new(self, &leaves);
        let gift = |at: &usize| {
            let entry = &self.entries[*at];
            let inherited = &entry.inherited;
            let gift = Gift {
                environment: inherited.environment.clone(),
                classes: plain_classes(&inherited.classes),
                config_data: plain_classes(&inherited.config_data),
                variables: plain(&inherited.variables),
            };
            (entry.group.id, gift)
        };
        let group = |at: &usize| Arc::clone(&self.entries[*at].group);
        Explanation {
            matches: self.explain_members(&members, node),
            leaves: leaves.iter().map(group).collect(),
            inherited: leaves.iter().map(gift).collect(),
            outcome: self.decide(node, &members, &merged),
            sources: self.sources(&merged),
        }
    }

    /// Only the rules of the groups that a node belongs to.
    pub(crate) fn explain_matches(&self, node: &NodeFacts) -> BTreeMap<GroupId, Value> {
        self.explain_members(&self.members(node), node)
    }

    fn explain_members(&self, members: &[usize], node: &NodeFacts) -> BTreeMap<GroupId, Value> {
        let explained = members.iter().filter_map(|at| {
            let entry = &self.entries[*at];
            let compiled = entry.compiled.as_ref()?;
            Some((entry.group.id, explain(compiled, node)))
        });
        explained.collect()
    }

    fn sources(&self, merged: &Merged<'_>) -> Value {
        let mut environment = Map::new();
        if let Some((_, name)) = merged.environment.first() {
            let sources: Vec<_> = merged
                .environment
                .iter()
                .map(|(at, _)| self.id(*at))
                .collect();
            environment.insert("value".to_owned(), json!(name));
            environment.insert("sources".to_owned(), json!(sources));
        }
        json!({
            "environment": environment,
            "variables": self.sources_of(&merged.variables),
            "classes": self.sources_of_classes(&merged.classes, true),
            "config_data": self.sources_of_classes(&merged.config_data, false),
        })
    }

    fn sources_of_classes(&self, classes: &MergedClasses<'_>, with_own: bool) -> Value {
        let of = classes.iter().map(|(name, class)| {
            let mut all = Map::new();
            if with_own {
                let sources: Vec<_> = class.sources.iter().map(|at| self.id(*at)).collect();
                all.insert("puppetlabs.classifier/sources".to_owned(), json!(sources));
            }
            all.extend(self.sources_of(&class.parameters));
            ((*name).to_owned(), Value::Object(all))
        });
        Value::Object(of.collect())
    }

    fn sources_of(&self, parameters: &MergedParameters<'_>) -> Map<String, Value> {
        let of = parameters.iter().map(|(name, words)| {
            let value = words.first().map(|word| word.value);
            let mut sources: Vec<_> = words
                .iter()
                .map(|word: &Word<'_>| self.id(word.defined_by))
                .collect();
            sources.dedup();
            (
                (*name).to_owned(),
                json!({"value": value, "sources": sources}),
            )
        });
        of.collect()
    }

    fn id(&self, at: usize) -> GroupId {
        self.entries[at].group.id
    }
}
