//! Queries on groups: their rules, their ancestors, their nodes.

use std::sync::Arc;

use pcp::Certname;
use serde_json::Value;

use super::NodeGroupTree;
use super::inherited_values::{without_class_sources, without_sources};
use crate::group::{ClassifierGroup, GroupId};
use crate::rule::and_inherited;
use crate::{ClassifiedNode, NodeGroupRule, QueryFormat, UntranslatableRule};

/// A group's rule in every form.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRule {
    /// The group's own rule; `None` if the group has no nodes.
    pub own: Option<NodeGroupRule>,
    /// The group's rule combined with those of its ancestors; `None` if it has no rule of its own.
    pub with_inherited: Option<NodeGroupRule>,
    /// The pinned nodes. They are members only if the rules of the ancestors match them, too.
    pub pinned: Vec<Certname>,
    /// Query for PuppetDB's `inventory`, in AST form, pinned nodes included; `None` without a
    /// rule.
    pub inventory_query: Option<Result<Value, UntranslatableRule>>,
    /// Query for PuppetDB's endpoint `nodes`, in AST form; `None` without a rule.
    pub nodes_query: Option<Result<Value, UntranslatableRule>>,
}

impl NodeGroupTree {
    pub(crate) fn ancestors(&self, id: GroupId) -> Option<Vec<GroupId>> {
        let (at, _) = self.entry(id)?;
        Some(
            self.ancestor_indexes(at)
                .map(|at| self.entries[at].group.id)
                .collect(),
        )
    }

    pub(crate) fn children(&self, id: GroupId) -> Option<Vec<&Arc<ClassifierGroup>>> {
        let (_, entry) = self.entry(id)?;
        let children = entry.children.iter();
        Some(children.map(|at| &self.entries[*at].group).collect())
    }

    pub(crate) fn inherited_rule(&self, id: GroupId) -> Option<GroupRule> {
        let (at, entry) = self.entry(id)?;
        let above = self.ancestor_indexes(at);
        let above = above.filter_map(|at| self.entries[at].group.rule.as_ref());
        let own = entry.group.rule.clone();
        let with_inherited = and_inherited(own.as_ref(), above);
        let pinned = own
            .as_ref()
            .map(NodeGroupRule::pinned_names)
            .unwrap_or_default();
        let to = |format| with_inherited.as_ref().map(|rule| rule.to_puppetdb(format));
        Some(GroupRule {
            // A name that is not a valid certname pins no node, because no such node can exist.
            pinned: pinned.iter().filter_map(|name| name.parse().ok()).collect(),
            inventory_query: to(QueryFormat::Inventory),
            nodes_query: to(QueryFormat::Nodes),
            own,
            with_inherited,
        })
    }

    /// The given nodes that belong to a group.
    pub(crate) fn matching_groups<S: ClassifiedNode>(
        &self,
        id: GroupId,
        nodes: impl IntoIterator<Item = S>,
    ) -> Option<Vec<Certname>> {
        let (at, entry) = self.entry(id)?;
        let Some(own) = &entry.compiled else {
            return Some(Vec::new());
        };
        let above = self.ancestor_indexes(at);
        let rules: Vec<_> = std::iter::once(own)
            .chain(above.filter_map(|at| self.entries[at].compiled.as_ref()))
            .collect();
        let members = nodes
            .into_iter()
            .filter(|node| rules.iter().all(|rule| rule.matches(node)));
        Some(members.map(|node| node.certname().clone()).collect())
    }

    /// The group, including inherited values that it does not override.
    pub(crate) fn group_with_inherited(&self, id: GroupId) -> Option<ClassifierGroup> {
        let (_, entry) = self.entry(id)?;
        let mut group = ClassifierGroup::clone(&entry.group);
        group.classes = without_class_sources(&entry.inherited.classes);
        group.config_data = without_class_sources(&entry.inherited.config_data);
        group.variables = without_sources(&entry.inherited.variables);
        Some(group)
    }
}
