//! Explains the classification of a node: [`NodeGroupTree::explain`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::NodeGroupTree;
use super::classify::{GroupConflict, NodeClassification};
use super::inherited_values::{without_class_sources, without_sources};
use super::merge::{GroupValue, MergedClasses, MergedParameters, MergedValues};
use crate::NodeFacts;
use crate::group::{ClassifierGroup, GroupClasses, GroupId, GroupParameters};
use crate::rule::explain;

/// The explanation of a classification, with all intermediate results.
#[derive(Clone, Debug)]
pub struct ClassifyExplanation {
    /// The rule of each group that the node belongs to, with every value and result.
    pub matches: BTreeMap<GroupId, Value>,
    /// The groups of the node that are not ancestors of others.
    pub leaves: Vec<Arc<ClassifierGroup>>,
    /// Values that each leaf gives, including inherited ones.
    pub inherited: BTreeMap<GroupId, LeafContribution>,
    /// The classification of the node, or the conflict that prevents it.
    pub outcome: Result<NodeClassification, Box<GroupConflict>>,
    /// Each value that the node receives, with the ids of the groups that define it.
    pub sources: Value,
}

/// The classification that one leaf group gives.
#[derive(Clone, Debug)]
pub struct LeafContribution {
    /// Name of the environment, as set in the group.
    pub environment: String,
    /// Classes with their parameters.
    pub classes: GroupClasses,
    /// Configuration data by class.
    pub config_data: GroupClasses,
    /// Top-scope variables by name.
    pub variables: GroupParameters,
}

impl NodeGroupTree {
    pub(crate) fn explain(&self, node: &NodeFacts) -> ClassifyExplanation {
        let members = self.matching_members(node);
        let leaves = self.leaf_members(&members);
        let merged = MergedValues::new(self, &leaves);
        let gift = |at: &usize| {
            let entry = &self.entries[*at];
            let inherited = &entry.inherited;
            let gift = LeafContribution {
                environment: inherited.environment.clone(),
                classes: without_class_sources(&inherited.classes),
                config_data: without_class_sources(&inherited.config_data),
                variables: without_sources(&inherited.variables),
            };
            (entry.group.id, gift)
        };
        let group = |at: &usize| Arc::clone(&self.entries[*at].group);
        ClassifyExplanation {
            matches: self.explain_members(&members, node),
            leaves: leaves.iter().map(group).collect(),
            inherited: leaves.iter().map(gift).collect(),
            outcome: self.resolve_conflicts(node, &members, &merged),
            sources: self.value_sources(&merged),
        }
    }

    /// The explained rules of the groups that a node belongs to, without the rest of the
    /// explanation.
    pub(crate) fn explain_matches(&self, node: &NodeFacts) -> BTreeMap<GroupId, Value> {
        self.explain_members(&self.matching_members(node), node)
    }

    fn explain_members(&self, members: &[usize], node: &NodeFacts) -> BTreeMap<GroupId, Value> {
        let explained = members.iter().filter_map(|at| {
            let entry = &self.entries[*at];
            let compiled = entry.compiled.as_ref()?;
            Some((entry.group.id, explain(compiled, node)))
        });
        explained.collect()
    }

    fn value_sources(&self, merged: &MergedValues<'_>) -> Value {
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
            "variables": self.parameter_sources(&merged.variables),
            "classes": self.class_sources(&merged.classes, true),
            "config_data": self.class_sources(&merged.config_data, false),
        })
    }

    fn class_sources(&self, classes: &MergedClasses<'_>, with_own: bool) -> Value {
        let of = classes.iter().map(|(name, class)| {
            let mut all = Map::new();
            if with_own {
                let sources: Vec<_> = class.sources.iter().map(|at| self.id(*at)).collect();
                all.insert("puppetlabs.classifier/sources".to_owned(), json!(sources));
            }
            all.extend(self.parameter_sources(&class.parameters));
            ((*name).to_owned(), Value::Object(all))
        });
        Value::Object(of.collect())
    }

    fn parameter_sources(&self, parameters: &MergedParameters<'_>) -> Map<String, Value> {
        let of = parameters.iter().map(|(name, words)| {
            let value = words.first().map(|word| word.value);
            let mut sources: Vec<_> = words
                .iter()
                .map(|word: &GroupValue<'_>| self.id(word.defined_by))
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
