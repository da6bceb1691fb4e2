//! Explains the classification of a node: [`Tree::explain`].

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

/// The explanation of a classification, with all intermediate results.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The rule of each group that the node belongs to, with every value and result.
    pub matches: BTreeMap<GroupId, Value>,
    /// The groups of the node that are not ancestors of others.
    pub leaves: Vec<Arc<Group>>,
    /// Values that each leaf gives, including inherited ones.
    pub inherited: BTreeMap<GroupId, Gift>,
    /// The classification of the node, or the conflict that prevents it.
    pub outcome: Result<Classification, Box<Conflict>>,
    /// Each value that the node receives, with the ids of the groups that define it.
    pub sources: Value,
}

/// The classification that one leaf group gives.
#[derive(Clone, Debug)]
pub struct Gift {
    /// Name of the environment, as set in the group.
    pub environment: String,
    /// Classes with their parameters.
    pub classes: Classes,
    /// Configuration data by class.
    pub config_data: Classes,
    /// Top-scope variables by name.
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

    /// The explained rules of the groups that a node belongs to, without the rest of the
    /// explanation.
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
