//! [`Classifier`]: the handle that engines and faces hold.

mod check_ins;
mod rows;
mod writing;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use pcp::Certname;
use store::{Store, StoreError};
use tokio::sync::Mutex;

use crate::code::CodeBook;
use crate::facts::{FactSource, FactSourceError, NodeFacts, Subject};
use crate::group::{Group, GroupId, are_as_shipped, shipped};
use crate::rights::{Editor, Right};
use crate::tree::{Classification, Conflict, Explanation, GroupRule, HierarchyError, Tree};

pub use check_ins::CheckIn;
pub use writing::{Edited, Unpinned};

/// The groups. Cheap to clone; clones share them.
#[derive(Clone, Debug)]
pub struct Classifier {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    tree: ArcSwap<Tree>,
    /// Whose turn it is to write.
    turn: Mutex<()>,
    /// Check-ins since the start.
    check_ins: AtomicU64,
    facts: OnceLock<Arc<dyn FactSource>>,
    code: CodeBook,
}

/// Why the groups cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error("cannot read the node groups")]
    Store(#[from] StoreError),
    /// What was read is no group.
    #[error("the node group {id} in the database cannot be read: {what}")]
    Row {
        /// Which.
        id: String,
        /// What is wrong with it.
        what: String,
    },
    /// What was read is no tree.
    #[error("the node groups in the database do not fit together")]
    Hierarchy(#[from] HierarchyError),
    /// A rule was cut off in the middle of being made ready.
    #[error("the node groups could not be made ready")]
    Stopped(#[from] tokio::task::JoinError),
}

/// There is no such group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no node group {0}")]
pub struct UnknownGroup(pub GroupId);

// === impl Classifier ===

impl Classifier {
    /// Reads the groups; writes the shipped ones into a store that has none.
    ///
    /// # Errors
    /// The store, or groups in it that this version cannot use.
    pub async fn open(store: Store) -> Result<Self, OpenError> {
        let mut groups = rows::read(store.node_groups().await?)?;
        if groups.is_empty() {
            groups = shipped(now_ms()).into_iter().map(Arc::new).collect();
            let rows = groups.iter().map(|group| rows::write(group)).collect();
            store.replace_node_groups(rows).await?;
        }
        let tree = tokio::task::spawn_blocking(move || Tree::build(groups, None)).await??;
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                tree: ArcSwap::from_pointee(tree),
                turn: Mutex::new(()),
                check_ins: AtomicU64::new(0),
                facts: OnceLock::new(),
                code: CodeBook::default(),
            }),
        })
    }

    /// Where facts come from when a request has none. Only the first call counts.
    pub fn set_fact_source(&self, source: Arc<dyn FactSource>) {
        // A second source would make answers depend on who was first.
        let _ = self.inner.facts.set(source);
    }

    /// What is known of a node: all that a source of facts has, or its name alone.
    ///
    /// # Errors
    /// There is a source and it does not answer.
    pub async fn facts_of(&self, certname: &Certname) -> Result<NodeFacts, FactSourceError> {
        let known = match self.inner.facts.get() {
            Some(source) => source.facts(certname).await?,
            None => None,
        };
        Ok(known.unwrap_or_else(|| NodeFacts::named(certname.clone())))
    }

    /// Whether a right was granted to an editor on a group or on one above it.
    pub fn may(&self, editor: &dyn Editor, right: Right, group: GroupId) -> bool {
        crate::edit::may(&self.tree(), editor, right, group)
    }

    /// What a node gets.
    ///
    /// # Errors
    /// Groups that do not agree, with every value in question.
    pub fn classify(
        &self,
        node: &(impl Subject + ?Sized),
    ) -> Result<Classification, Box<Conflict>> {
        self.tree().classify(node)
    }

    /// Why a node gets what it gets.
    pub fn explain(&self, node: &NodeFacts) -> Explanation {
        self.tree().explain(node)
    }

    /// A group's rule in every form, for example as a query of PuppetDB.
    ///
    /// # Errors
    /// There is no such group.
    pub fn rule_of(&self, id: GroupId) -> Result<GroupRule, UnknownGroup> {
        self.tree().rule_of(id).ok_or(UnknownGroup(id))
    }

    /// Those of the nodes that belong to a group, in their order.
    ///
    /// # Errors
    /// There is no such group.
    pub fn matching<S: Subject>(
        &self,
        id: GroupId,
        nodes: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Certname>, UnknownGroup> {
        self.tree().matching(id, nodes).ok_or(UnknownGroup(id))
    }

    /// A group's ancestors, nearest first, without itself. Rights on any of them are rights on it.
    ///
    /// # Errors
    /// There is no such group.
    pub fn ancestors(&self, id: GroupId) -> Result<Vec<GroupId>, UnknownGroup> {
        self.tree().ancestors(id).ok_or(UnknownGroup(id))
    }

    /// One group.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group(&self, id: GroupId) -> Result<Arc<Group>, UnknownGroup> {
        self.tree().group(id).cloned().ok_or(UnknownGroup(id))
    }

    /// One group, with what it inherits laid under its own.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group_with_inherited(&self, id: GroupId) -> Result<Group, UnknownGroup> {
        self.tree().with_inherited(id).ok_or(UnknownGroup(id))
    }

    /// All groups, parents before their children.
    pub fn groups(&self) -> Vec<Arc<Group>> {
        self.tree().groups().cloned().collect()
    }

    /// Whether there are only the shipped groups, as they were: nobody has decided yet what any
    /// node gets.
    pub fn is_as_shipped(&self) -> bool {
        are_as_shipped(&self.groups())
    }

    /// The children of a group, by name.
    ///
    /// # Errors
    /// There is no such group.
    pub fn children(&self, id: GroupId) -> Result<Vec<Arc<Group>>, UnknownGroup> {
        let tree = self.tree();
        let children = tree.children(id).ok_or(UnknownGroup(id))?;
        Ok(children.into_iter().cloned().collect())
    }

    pub(crate) fn code(&self) -> &CodeBook {
        &self.inner.code
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    fn tree(&self) -> arc_swap::Guard<Arc<Tree>> {
        self.inner.tree.load()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.tree.load().len();
        f.debug_struct("Inner")
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
