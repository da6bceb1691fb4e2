//! [`Classifier`]: the handle to the node classifier that engines and APIs hold.

mod check_ins;
mod edits;
mod rows;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use pcp::Certname;
use store::{Store, StoreError, now_ms};
use tokio::sync::Mutex;

use crate::facts::{ClassifiedNode, FactSource, FactSourceError, NodeFacts};
use crate::group::{ClassifierGroup, GroupId, are_default_groups, default_groups};
use crate::known_code::CodeCatalog;
use crate::rights::{GroupEditor, NodeGroupRight};
use crate::tree::{
    ClassifyExplanation, GroupConflict, GroupRule, HierarchyError, NodeClassification,
    NodeGroupTree,
};

pub use check_ins::RecordedCheckIn;
pub use edits::{EditedGroup, UnpinResult};

/// The node groups and the operations on them. Cheap to clone; clones share the groups.
#[derive(Clone, Debug)]
pub struct Classifier {
    inner: Arc<ClassifierInner>,
}

struct ClassifierInner {
    store: Store,
    tree: ArcSwap<NodeGroupTree>,
    /// Held while an edit is written, so that edits run one after another.
    edit_lock: Mutex<()>,
    /// Number of check-ins since the start.
    check_ins: AtomicU64,
    facts: OnceLock<Arc<dyn FactSource>>,
    code: CodeCatalog,
}

/// The groups could not be read from the store.
#[derive(Debug, thiserror::Error)]
pub enum ClassifierOpenError {
    /// The store could not be read or written.
    #[error("cannot read the node groups")]
    Store(#[from] StoreError),
    /// A stored row is not a valid group.
    #[error("the node group {id} in the database cannot be read: {what}")]
    Row {
        /// Id in the invalid row.
        id: String,
        /// Description of the defect.
        what: String,
    },
    /// The stored groups do not form a tree.
    #[error("the node groups in the database do not fit together")]
    Hierarchy(#[from] HierarchyError),
    /// The compilation of a rule was aborted.
    #[error("the node groups could not be made ready")]
    Stopped(#[from] tokio::task::JoinError),
}

/// The error that no group has this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no node group {0}")]
pub struct UnknownGroup(pub GroupId);

// === impl Classifier ===

impl Classifier {
    /// Reads the groups; writes the shipped ones into a store that has none.
    ///
    /// # Errors
    /// The store failed, or it holds groups that this version cannot use.
    pub async fn open(store: Store) -> Result<Self, ClassifierOpenError> {
        let mut groups = rows::from_rows(store.node_groups().await?)?;
        if groups.is_empty() {
            groups = default_groups(now_ms()).into_iter().map(Arc::new).collect();
            let rows = groups.iter().map(|group| rows::to_row(group)).collect();
            store.replace_node_groups(rows).await?;
        }
        let tree =
            tokio::task::spawn_blocking(move || NodeGroupTree::build(groups, None)).await??;
        Ok(Self {
            inner: Arc::new(ClassifierInner {
                store,
                tree: ArcSwap::from_pointee(tree),
                edit_lock: Mutex::new(()),
                check_ins: AtomicU64::new(0),
                facts: OnceLock::new(),
                code: CodeCatalog::default(),
            }),
        })
    }

    /// Sets the source of facts for requests without facts. Only the first call has an effect.
    pub fn set_fact_source(&self, source: Arc<dyn FactSource>) {
        // With a replaceable source, answers would depend on the order of the calls.
        let _ = self.inner.facts.set(source);
    }

    /// The facts of a node from the source, or the node without facts if there is no source or the
    /// node is unknown.
    ///
    /// # Errors
    /// The source of facts did not answer.
    pub async fn node_facts(&self, certname: &Certname) -> Result<NodeFacts, FactSourceError> {
        let known = match self.inner.facts.get() {
            Some(source) => source.facts(certname).await?,
            None => None,
        };
        Ok(known.unwrap_or_else(|| NodeFacts::without_facts(certname.clone())))
    }

    /// Returns `true` if the editor has a permission on a group or on one of its ancestors.
    pub fn has_right(
        &self,
        editor: &dyn GroupEditor,
        right: NodeGroupRight,
        group: GroupId,
    ) -> bool {
        crate::edit::has_right(&self.tree(), editor, right, group)
    }

    /// The classification of a node.
    ///
    /// # Errors
    /// The groups of the node conflict; the error has every value in question.
    pub fn classify(
        &self,
        node: &(impl ClassifiedNode + ?Sized),
    ) -> Result<NodeClassification, Box<GroupConflict>> {
        self.tree().classify(node)
    }

    /// The explanation of a node's classification.
    pub fn explain(&self, node: &NodeFacts) -> ClassifyExplanation {
        self.tree().explain(node)
    }

    /// A group's rule in every form, for example as a query of PuppetDB.
    ///
    /// # Errors
    /// No group has this id.
    pub fn inherited_rule(&self, id: GroupId) -> Result<GroupRule, UnknownGroup> {
        self.tree().inherited_rule(id).ok_or(UnknownGroup(id))
    }

    /// The given nodes that belong to a group, in their order.
    ///
    /// # Errors
    /// No group has this id.
    pub fn matching_groups<S: ClassifiedNode>(
        &self,
        id: GroupId,
        nodes: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Certname>, UnknownGroup> {
        self.tree()
            .matching_groups(id, nodes)
            .ok_or(UnknownGroup(id))
    }

    /// The ancestors of a group, nearest first, without the group itself. A permission on any of
    /// them applies to the group.
    ///
    /// # Errors
    /// No group has this id.
    pub fn ancestors(&self, id: GroupId) -> Result<Vec<GroupId>, UnknownGroup> {
        self.tree().ancestors(id).ok_or(UnknownGroup(id))
    }

    /// The group with this id.
    ///
    /// # Errors
    /// No group has this id.
    pub fn group(&self, id: GroupId) -> Result<Arc<ClassifierGroup>, UnknownGroup> {
        self.tree().group(id).cloned().ok_or(UnknownGroup(id))
    }

    /// The group with this id, including inherited values that it does not override.
    ///
    /// # Errors
    /// No group has this id.
    pub fn group_with_inherited(&self, id: GroupId) -> Result<ClassifierGroup, UnknownGroup> {
        self.tree().group_with_inherited(id).ok_or(UnknownGroup(id))
    }

    /// All groups, parents before their children.
    pub fn groups(&self) -> Vec<Arc<ClassifierGroup>> {
        self.tree().groups().cloned().collect()
    }

    /// Returns `true` if there are only the shipped groups, unchanged: the classification has not
    /// been configured yet.
    pub fn has_default_groups(&self) -> bool {
        are_default_groups(&self.groups())
    }

    /// The children of a group, sorted by name.
    ///
    /// # Errors
    /// No group has this id.
    pub fn children(&self, id: GroupId) -> Result<Vec<Arc<ClassifierGroup>>, UnknownGroup> {
        let tree = self.tree();
        let children = tree.children(id).ok_or(UnknownGroup(id))?;
        Ok(children.into_iter().cloned().collect())
    }

    pub(crate) fn code_catalog(&self) -> &CodeCatalog {
        &self.inner.code
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    fn tree(&self) -> arc_swap::Guard<Arc<NodeGroupTree>> {
        self.inner.tree.load()
    }
}

impl fmt::Debug for ClassifierInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.tree.load().len();
        f.debug_struct("ClassifierInner")
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}
