//! Why an edit is refused: [`EditError`].

use std::sync::Arc;

use store::StoreError;

use crate::group::{Group, GroupId};
use crate::tree::HierarchyError;
use crate::{OpenError, Right, UnknownGroup};

/// Why groups stay as they were.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// No such group.
    #[error(transparent)]
    Unknown(#[from] UnknownGroup),
    /// The body's id is not the one of the path.
    #[error("the group's id is {submitted} in the body and {addressed} in the address")]
    ConflictingIds {
        /// In the body.
        submitted: GroupId,
        /// In the address.
        addressed: GroupId,
    },
    /// Somebody else edited it in between.
    #[error(
        "the group was edited by somebody else: its serial number is {current}, not {given}; get \
         it again and repeat the edit"
    )]
    Serial {
        /// The client's.
        given: i64,
        /// The group's.
        current: i64,
    },
    /// The root's rule.
    #[error(
        "the rule of the root group cannot be edited: every node belongs to it; send the rest of \
         the edit without the key `rule`"
    )]
    RootRule,
    /// The root itself.
    #[error("the root group can neither be deleted nor moved")]
    RootStays,
    /// A group with children.
    #[error(
        "the group {:?} has children ({}); delete or move them first", group.name,
        children.iter().map(|child| child.name.as_str()).collect::<Vec<_>>().join(", ")
    )]
    ChildrenPresent {
        /// The group.
        group: Arc<Group>,
        /// Its children.
        children: Vec<Arc<Group>>,
    },
    /// The groups of an import that hang on no parent.
    #[error("groups cannot be reached from the root: {}", names.join(", "))]
    Unreachable {
        /// Their names.
        names: Vec<String>,
    },
    /// Pinned nodes.
    #[error("too many nodes are pinned to one group; use a rule instead")]
    TooManyPins,
    /// What comes of it is no tree.
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    /// The editor may not.
    #[error("this needs the permission node_groups:{}:{group}, or the same on a group above", right.action())]
    NotPermitted {
        /// What is missing.
        right: Right,
        /// Where.
        group: GroupId,
    },
    /// The rows are not what this server wrote.
    #[error("the node groups in the database were changed by other hands; they were read again")]
    Stale,
    /// The store.
    #[error("cannot write the node groups")]
    Store(#[from] StoreError),
    /// Reading again after a failure failed too.
    #[error("cannot read the node groups again")]
    Reload(#[from] OpenError),
    /// The server goes down.
    #[error("the edit was cut off")]
    Stopped(#[from] tokio::task::JoinError),
}
