//! The errors of edits: [`EditError`].

use std::sync::Arc;

use store::StoreError;

use crate::group::{ClassifierGroup, GroupId};
use crate::tree::HierarchyError;
use crate::{ClassifierOpenError, NodeGroupRight, UnknownGroup};

/// An edit was refused or failed, and the groups are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// No group has the given id.
    #[error(transparent)]
    Unknown(#[from] UnknownGroup),
    /// The id in the body differs from the id in the path.
    #[error("the group's id is {submitted} in the body and {addressed} in the address")]
    ConflictingIds {
        /// Id in the body of the request.
        submitted: GroupId,
        /// Id in the path of the request.
        addressed: GroupId,
    },
    /// The group was edited by another client in the meantime.
    #[error(
        "the group was edited by another client: its serial number is {current}, not {given}; get \
         it again and repeat the edit"
    )]
    Serial {
        /// The serial number that the client sent.
        given: i64,
        /// The current serial number of the group.
        current: i64,
    },
    /// The edit would change the rule of the root group.
    #[error(
        "the rule of the root group cannot be edited: every node belongs to it; send the rest of \
         the edit without the key `rule`"
    )]
    RootRule,
    /// The edit would delete or move the root group.
    #[error("the root group can neither be deleted nor moved")]
    RootStays,
    /// A group with children cannot be deleted.
    #[error(
        "the group {:?} has children ({}); delete or move them first", group.name,
        children.iter().map(|child| child.name.as_str()).collect::<Vec<_>>().join(", ")
    )]
    ChildrenPresent {
        /// The group to delete.
        group: Arc<ClassifierGroup>,
        /// The children of the group.
        children: Vec<Arc<ClassifierGroup>>,
    },
    /// The import contains groups that are not connected to the root.
    #[error("groups cannot be reached from the root: {}", names.join(", "))]
    Unreachable {
        /// Names of these groups.
        names: Vec<String>,
    },
    /// The edit would pin too many nodes.
    #[error("too many nodes are pinned to one group; use a rule instead")]
    TooManyPins,
    /// The resulting groups do not form a tree.
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    /// The editor lacks a permission.
    #[error("this needs the permission node_groups:{}:{group}, or the same on a group above", right.action())]
    NotPermitted {
        /// The missing permission.
        right: NodeGroupRight,
        /// The group that the permission is required on.
        group: GroupId,
    },
    /// The stored rows differ from those that this server wrote.
    #[error("the node groups in the database were changed by other hands; they were read again")]
    Stale,
    /// The store could not be read or written.
    #[error("cannot write the node groups")]
    Store(#[from] StoreError),
    /// A write failed, and so did the reading of the groups after it.
    #[error("cannot read the node groups again")]
    Reload(#[from] ClassifierOpenError),
    /// The server is shutting down.
    #[error("the edit was cut off")]
    Stopped(#[from] tokio::task::JoinError),
}
