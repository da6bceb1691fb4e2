//! An immutable snapshot of all groups, prepared for classification. Main type: [`NodeGroupTree`].
//!
//! Invariants: a tree is never changed, and each write makes a new one; in a tree every group is
//! reachable from the root, and every rule is compiled.

mod build;
mod classify;
mod explain;
mod inherited_values;
mod merge;
mod query;

use std::collections::HashMap;
use std::sync::Arc;

use self::inherited_values::InheritedValues;
use crate::group::{ClassifierGroup, GroupId};
use crate::rule::CompiledGroupRule;

pub use build::HierarchyError;
pub use classify::{ConflictClaim, GroupConflict, GroupRef, NodeClassification};
pub use explain::{ClassifyExplanation, LeafContribution};
pub use query::GroupRule;

/// The groups, parents before their children, children sorted by name.
#[derive(Debug)]
pub(crate) struct NodeGroupTree {
    entries: Vec<TreeGroup>,
    by_id: HashMap<GroupId, usize>,
}

#[derive(Debug)]
struct TreeGroup {
    group: Arc<ClassifierGroup>,
    compiled: Option<Arc<CompiledGroupRule>>,
    /// Index of the parent; `None` for the root.
    parent: Option<usize>,
    children: Vec<usize>,
    inherited: InheritedValues,
}

impl NodeGroupTree {
    /// All groups, parents first.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Arc<ClassifierGroup>> {
        self.entries.iter().map(|entry| &entry.group)
    }

    pub(crate) fn group(&self, id: GroupId) -> Option<&Arc<ClassifierGroup>> {
        self.entry(id).map(|(_, entry)| &entry.group)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, id: GroupId) -> Option<(usize, &TreeGroup)> {
        let index = *self.by_id.get(&id)?;
        self.entries.get(index).map(|entry| (index, entry))
    }

    /// The group's ancestors, nearest first, without itself.
    fn ancestor_indexes(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.entries[index].parent, |above| {
            self.entries[*above].parent
        })
    }
}
