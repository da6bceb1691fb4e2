//! An immutable snapshot of all groups, prepared for classification. Main type: [`Tree`].
//!
//! Invariants: a tree is never changed, and each write makes a new one; in a tree every group is
//! reachable from the root, and every rule is compiled.

mod build;
mod classify;
mod explain;
mod inherited;
mod merge;
mod query;

use std::collections::HashMap;
use std::sync::Arc;

use self::inherited::Inherited;
use crate::group::{Group, GroupId};
use crate::rule::Compiled;

pub use build::HierarchyError;
pub use classify::{Claim, Classification, Conflict, GroupRef};
pub use explain::{Explanation, Gift};
pub use query::GroupRule;

/// The groups, parents before their children, children sorted by name.
#[derive(Debug)]
pub(crate) struct Tree {
    entries: Vec<Entry>,
    by_id: HashMap<GroupId, usize>,
}

#[derive(Debug)]
struct Entry {
    group: Arc<Group>,
    compiled: Option<Arc<Compiled>>,
    /// Index of the parent; `None` for the root.
    parent: Option<usize>,
    children: Vec<usize>,
    inherited: Inherited,
}

impl Tree {
    /// All groups, parents first.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.entries.iter().map(|entry| &entry.group)
    }

    pub(crate) fn group(&self, id: GroupId) -> Option<&Arc<Group>> {
        self.entry(id).map(|(_, entry)| &entry.group)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, id: GroupId) -> Option<(usize, &Entry)> {
        let index = *self.by_id.get(&id)?;
        self.entries.get(index).map(|entry| (index, entry))
    }

    /// The group's ancestors, nearest first, without itself.
    fn above(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.entries[index].parent, |above| {
            self.entries[*above].parent
        })
    }
}
