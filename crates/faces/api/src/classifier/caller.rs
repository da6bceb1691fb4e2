//! Rights on groups: [`demand_on_group`], [`Rights`].
//!
//! The rule: a right on a group is one on every group below it.

use std::sync::Arc;

use classifier::{Editor, GroupId, Right};
use rbac::{Access, Identity, Instance, Permission};

use crate::Shared;
use crate::failure::Failure;
use crate::guard::Caller;

/// What a caller may do, for the classifier to ask.
#[derive(Clone)]
pub(crate) struct Rights {
    access: Access,
    identity: Arc<Identity>,
}

impl Rights {
    pub(crate) fn new(api: &Shared, caller: &Caller) -> Self {
        Self {
            access: api.access.clone(),
            identity: Arc::clone(&caller.0),
        }
    }
}

impl Editor for Rights {
    fn may(&self, right: Right, group: GroupId) -> bool {
        let group = group.to_string();
        let permission = Permission {
            object_type: "node_groups",
            action: right.action(),
            instance: Instance::Named(&group),
        };
        self.access.authorize(&self.identity, permission).is_ok()
    }
}

/// Whether a caller has a right on a group or on one above it.
pub(crate) fn may_on_group(api: &Shared, caller: &Caller, right: Right, group: GroupId) -> bool {
    api.classifier.may(&Rights::new(api, caller), right, group)
}

/// Refuses a caller who has a right neither on a group nor on one above it.
pub(crate) fn demand_on_group(
    api: &Shared,
    caller: &Caller,
    right: Right,
    group: GroupId,
) -> Result<(), Failure> {
    if may_on_group(api, caller, right, group) {
        return Ok(());
    }
    Err(super::refusal::not_permitted(right, group))
}
