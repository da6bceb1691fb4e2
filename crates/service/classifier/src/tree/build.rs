//! Builds a tree of groups. Main function: [`NodeGroupTree::build`].
//!
//! Invariant: groups that do not form a tree are refused with the names of the faulty groups;
//! rules that did not change keep their compiled form.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::inherited_values::InheritedValues;
use super::{NodeGroupTree, TreeGroup};
use crate::defaults::{GROUP_DEPTH, GROUPS};
use crate::group::{ClassifierGroup, GroupId};
use crate::rule::{CompiledGroupRule, PatternError};

/// The groups do not form a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HierarchyError {
    /// The root is missing, or has a parent.
    #[error("the group 00000000-0000-4000-8000-000000000000 must be there, as its own parent")]
    NoRoot,
    /// Two groups have the same id.
    #[error("two groups have the id {0}")]
    SameId(GroupId),
    /// Two groups of an environment have the same name.
    #[error("there is a group {name:?} in the environment {environment:?} already")]
    SameName {
        /// The shared name.
        name: String,
        /// Environment of the two groups.
        environment: String,
    },
    /// The parent of a group is missing.
    #[error("the parent {parent} of the group {name:?} does not exist")]
    MissingParent {
        /// Id of the group.
        id: GroupId,
        /// Name of the group.
        name: String,
        /// Id of the missing parent.
        parent: GroupId,
    },
    /// Groups that are their own ancestors, each followed by its parent.
    #[error("groups would be their own ancestors: {}", names.join(" -> "))]
    Cycle {
        /// Ids of these groups.
        ids: Vec<GroupId>,
        /// Names of these groups, with the first one repeated at the end.
        names: Vec<String>,
    },
    /// There are too many groups.
    #[error("there can be at most {GROUPS} groups")]
    TooMany,
    /// The named group is nested too deeply.
    #[error("the group {0:?} is nested more than {GROUP_DEPTH} levels below the root")]
    TooDeep(String),
    /// A rule has a pattern that cannot be compiled.
    #[error("the rule of the group {name:?}: {source}")]
    Pattern {
        /// Name of the group.
        name: String,
        /// The defect of the pattern.
        source: PatternError,
    },
}

impl NodeGroupTree {
    /// Builds a tree of these groups; `before` is the tree that it replaces.
    pub(crate) fn build(
        groups: Vec<Arc<ClassifierGroup>>,
        before: Option<&Self>,
    ) -> Result<Self, HierarchyError> {
        check_names(&groups)?;
        let by_id = index_by_id(&groups)?;
        let children = children_by_parent(&groups, &by_id)?;
        let mut tree = Self {
            entries: Vec::with_capacity(groups.len()),
            by_id: HashMap::with_capacity(groups.len()),
        };
        // Breadth first, so that parents stand before their children.
        let mut next = vec![(GroupId::ROOT, None)];
        let mut depth = 0;
        while !next.is_empty() {
            let mut below = Vec::new();
            for (id, parent) in next {
                let group = &groups[by_id[&id]];
                if depth > GROUP_DEPTH {
                    return Err(HierarchyError::TooDeep(group.name.clone()));
                }
                let at = tree.add_entry(group, parent, before)?;
                let children = children.get(&id).into_iter().flatten();
                below.extend(children.map(|child| (*child, Some(at))));
            }
            next = below;
            depth += 1;
        }
        if tree.len() < groups.len() {
            return Err(find_cycle(&groups, &by_id, &tree));
        }
        Ok(tree)
    }

    fn add_entry(
        &mut self,
        group: &Arc<ClassifierGroup>,
        parent: Option<usize>,
        before: Option<&Self>,
    ) -> Result<usize, HierarchyError> {
        let at = self.entries.len();
        let above = parent.map(|parent| &self.entries[parent].inherited);
        let inherited = InheritedValues::new(at, group, above);
        self.entries.push(TreeGroup {
            group: Arc::clone(group),
            compiled: compile_rule(group, before)?,
            parent,
            children: Vec::new(),
            inherited,
        });
        if let Some(parent) = parent {
            self.entries[parent].children.push(at);
        }
        self.by_id.insert(group.id, at);
        Ok(at)
    }
}

fn compile_rule(
    group: &ClassifierGroup,
    before: Option<&NodeGroupTree>,
) -> Result<Option<Arc<CompiledGroupRule>>, HierarchyError> {
    let Some(rule) = &group.rule else {
        return Ok(None);
    };
    let known = before.and_then(|tree| tree.entry(group.id)?.1.compiled.as_ref());
    if let Some(known) = known.filter(|known| known.rule == *rule) {
        return Ok(Some(Arc::clone(known)));
    }
    let compiled = CompiledGroupRule::new(rule.clone());
    compiled
        .map(Some)
        .map_err(|source| HierarchyError::Pattern {
            name: group.name.clone(),
            source,
        })
}

fn check_names(groups: &[Arc<ClassifierGroup>]) -> Result<(), HierarchyError> {
    if groups.len() > GROUPS {
        return Err(HierarchyError::TooMany);
    }
    let mut names = HashSet::with_capacity(groups.len());
    let twice = groups
        .iter()
        .find(|group| !names.insert((&group.name, &group.environment)));
    match twice {
        None => Ok(()),
        Some(group) => Err(HierarchyError::SameName {
            name: group.name.clone(),
            environment: group.environment.clone(),
        }),
    }
}

fn index_by_id(groups: &[Arc<ClassifierGroup>]) -> Result<HashMap<GroupId, usize>, HierarchyError> {
    let mut by_id = HashMap::with_capacity(groups.len());
    for (at, group) in groups.iter().enumerate() {
        if by_id.insert(group.id, at).is_some() {
            return Err(HierarchyError::SameId(group.id));
        }
    }
    match by_id.get(&GroupId::ROOT) {
        Some(root) if groups[*root].parent == GroupId::ROOT => Ok(by_id),
        _ => Err(HierarchyError::NoRoot),
    }
}

/// The children of each group, sorted by name.
fn children_by_parent(
    groups: &[Arc<ClassifierGroup>],
    by_id: &HashMap<GroupId, usize>,
) -> Result<HashMap<GroupId, Vec<GroupId>>, HierarchyError> {
    let mut children: HashMap<_, Vec<_>> = HashMap::new();
    for group in groups.iter().filter(|group| group.id != GroupId::ROOT) {
        if !by_id.contains_key(&group.parent) {
            return Err(HierarchyError::MissingParent {
                id: group.id,
                name: group.name.clone(),
                parent: group.parent,
            });
        }
        children.entry(group.parent).or_default().push(group.id);
    }
    for siblings in children.values_mut() {
        siblings.sort_by_key(|id| (&groups[by_id[id]].name, *id));
    }
    Ok(children)
}

/// The error for groups on a cycle: all parents exist, but some groups are not reachable.
fn find_cycle(
    groups: &[Arc<ClassifierGroup>],
    by_id: &HashMap<GroupId, usize>,
    tree: &NodeGroupTree,
) -> HierarchyError {
    let lost = groups.iter().find(|group| tree.entry(group.id).is_none());
    let mut way: Vec<&ClassifierGroup> = Vec::new();
    let mut at = lost.map(|group| &**group);
    while let Some(group) = at {
        if let Some(start) = way.iter().position(|seen| seen.id == group.id) {
            way.drain(..start);
            break;
        }
        way.push(group);
        at = by_id.get(&group.parent).map(|index| &*groups[*index]);
    }
    let first = way.first().map(|group| group.name.clone());
    HierarchyError::Cycle {
        ids: way.iter().map(|group| group.id).collect(),
        names: way
            .iter()
            .map(|group| group.name.clone())
            .chain(first)
            .collect(),
    }
}
