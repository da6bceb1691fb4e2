//! Permissions on groups: [`demand_on_group`], [`CallerRights`].
//!
//! Invariant: a right on a group includes every group below it.

use std::sync::Arc;

use classifier::{GroupEditor, GroupId, NodeGroupRight};
use rbac::{PermissionInstance, Rbac, RequestedPermission, UserIdentity};

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;

/// The rights of a caller, as the classifier checks them.
#[derive(Clone)]
pub(crate) struct CallerRights {
    access: Rbac,
    identity: Arc<UserIdentity>,
}

impl CallerRights {
    pub(crate) fn new(api: &SharedApiContext, caller: &ApiCaller) -> Self {
        Self {
            access: api.access.clone(),
            identity: Arc::clone(&caller.0),
        }
    }
}

impl GroupEditor for CallerRights {
    fn has_direct_right(&self, right: NodeGroupRight, group: GroupId) -> bool {
        let group = group.to_string();
        let permission = RequestedPermission {
            object_type: "node_groups",
            action: right.action(),
            instance: PermissionInstance::Named(&group),
        };
        self.access.authorize(&self.identity, permission).is_ok()
    }
}

/// True if the caller has a right on the group or on one of its ancestors.
pub(crate) fn may_on_group(
    api: &SharedApiContext,
    caller: &ApiCaller,
    right: NodeGroupRight,
    group: GroupId,
) -> bool {
    api.classifier
        .has_right(&CallerRights::new(api, caller), right, group)
}

/// Refuses a caller who has a right neither on the group nor on one of its ancestors.
pub(crate) fn demand_on_group(
    api: &SharedApiContext,
    caller: &ApiCaller,
    right: NodeGroupRight,
    group: GroupId,
) -> Result<(), ApiFailure> {
    if may_on_group(api, caller, right, group) {
        return Ok(());
    }
    Err(super::refusal::not_permitted_error(right, group))
}
