//! User-defined roles and the members of all roles. Main type: [`RoleView`].
//!
//! Invariants: a caller who changes a role has every permission that the change adds, and a caller
//! who gives a role has every permission of it. A user who gains permissions loses all password
//! reset tokens: their creators only had the permissions that the user had before.

use std::collections::BTreeSet;

use store::{RoleRow, Store, StoreError};

use crate::default_roles::is_default;
use crate::defaults::TEXT_CHARS;
use crate::error::{validate_name, validate_text};
use crate::locked_write::{CacheInvalidation, RightsLock};
use crate::permission::PermissionGrant;
use crate::users::permission_denied;
use crate::{ManageError, PermissionSet, Rbac, RequestedPermission, UserIdentity};

/// A role with permissions and members.
pub type RoleView = RoleRow;

/// A role to create, or the new values of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleSpec {
    /// Unique name of the role.
    pub display_name: String,
    /// Explanation for administrators; may be empty.
    pub description: String,
    /// Permissions that the role gives.
    pub permissions: Vec<PermissionGrant>,
    /// Ids of the users who have the role.
    pub user_ids: Vec<String>,
    /// Ids of the user groups whose members have the role.
    pub group_ids: Vec<String>,
}

fn permissions_of(role: &RoleRow) -> PermissionSet {
    let grants: Vec<PermissionGrant> = role
        .permissions
        .iter()
        .cloned()
        .map(PermissionGrant::from)
        .collect();
    PermissionSet::from_grants(&grants)
}

impl Rbac {
    /// All roles, sorted by id.
    pub async fn roles(&self) -> Result<Vec<RoleView>, StoreError> {
        self.inner.store.roles().await
    }

    /// The role with this id.
    pub async fn role(&self, id: i64) -> Result<RoleView, ManageError> {
        let role = self.inner.store.role(id).await?;
        role.ok_or_else(|| unknown_role(id))
    }

    /// Creates a role and returns its id. Needs `user_roles:create`.
    pub async fn create_role(&self, by: &UserIdentity, spec: RoleSpec) -> Result<i64, ManageError> {
        self.authorize(by, RequestedPermission::on("user_roles", "create", "*"))?;
        let turn = self.lock_rights().await;
        let id = self.inner.store.next_role_id().await?;
        let row = self
            .validate_role(by, id, spec, &RoleRow::default())
            .await?;
        if !row.user_ids.is_empty() || !row.group_ids.is_empty() {
            let members = RequestedPermission::on("user_roles", "edit_members", "*");
            self.authorize(by, members)?;
        }
        self.put_role(turn, &RoleRow::default(), row).await?;
        tracing::info!(by = by.login, role = id, "made a role");
        Ok(id)
    }

    /// Changes a role. Needs `user_roles:edit` of the role, and `user_roles:edit_members` if the
    /// members change.
    pub async fn update_role(
        &self,
        by: &UserIdentity,
        id: i64,
        spec: RoleSpec,
    ) -> Result<(), ManageError> {
        let turn = self.lock_rights().await;
        let present = self.role(id).await?;
        Box::pin(self.replace_role(turn, by, present, spec)).await
    }

    /// Writes a role that was read under the same lock.
    async fn replace_role(
        &self,
        turn: RightsLock,
        by: &UserIdentity,
        present: RoleRow,
        spec: RoleSpec,
    ) -> Result<(), ManageError> {
        let id = present.id;
        let row = self.validate_role(by, id, spec, &present).await?;
        let key = id.to_string();
        let texts = |role: &RoleRow| {
            (
                role.display_name.clone(),
                role.description.clone(),
                role.permissions.clone(),
            )
        };
        let members = |role: &RoleRow| (role.user_ids.clone(), role.group_ids.clone());
        if texts(&present) != texts(&row) {
            self.authorize(by, RequestedPermission::on("user_roles", "edit", &key))?;
            if is_default(id) {
                return Err(ManageError::DefaultRole);
            }
        }
        if members(&present) != members(&row) {
            self.require_member_change(by, &present, adds_members(&present, &row))?;
            // New members get the permissions of the changed role, too.
            self.require_cover(by, &permissions_of(&row), adds_members(&present, &row))?;
        }
        Ok(self.put_role(turn, &present, row).await?)
    }

    /// Adds permissions to a role and removes others.
    pub async fn change_permissions(
        &self,
        by: &UserIdentity,
        id: i64,
        add: Vec<PermissionGrant>,
        remove: &[PermissionGrant],
    ) -> Result<(), ManageError> {
        let key = id.to_string();
        self.authorize(by, RequestedPermission::on("user_roles", "edit", &key))?;
        // Lock before reading, so that members who are removed meanwhile do not come back.
        let turn = self.lock_rights().await;
        let present = self.role(id).await?;
        let mut spec = RoleSpec::from(present.clone());
        spec.permissions.retain(|grant| !remove.contains(grant));
        spec.permissions.extend(add);
        if is_default(id) {
            return Err(ManageError::DefaultRole);
        }
        Box::pin(self.replace_role(turn, by, present, spec)).await
    }

    /// Adds users and groups to a role and removes others. Needs `user_roles:edit_members` of the
    /// role.
    pub async fn change_members(
        &self,
        by: &UserIdentity,
        id: i64,
        members: MemberChange,
    ) -> Result<(), ManageError> {
        let turn = self.lock_rights().await;
        let present = self.role(id).await?;
        let adds = !members.add_users.is_empty() || !members.add_groups.is_empty();
        self.require_member_change(by, &present, adds)?;
        let changed = |present: &[String], add: &[String], remove: &[String]| {
            let mut ids: BTreeSet<String> = present.iter().chain(add).cloned().collect();
            ids.retain(|id| !remove.contains(id));
            ids.into_iter().collect::<Vec<_>>()
        };
        let mut spec = RoleSpec::from(present.clone());
        spec.user_ids = changed(&spec.user_ids, &members.add_users, &members.remove_users);
        spec.group_ids = changed(&spec.group_ids, &members.add_groups, &members.remove_groups);
        let row = self.validate_role(by, id, spec, &present).await?;
        Ok(self.put_role(turn, &present, row).await?)
    }

    /// Deletes a role, also from its members. Needs `user_roles:edit` of the role.
    pub async fn delete_role(&self, by: &UserIdentity, id: i64) -> Result<(), ManageError> {
        let key = id.to_string();
        self.authorize(by, RequestedPermission::on("user_roles", "edit", &key))?;
        let turn = self.lock_rights().await;
        self.role(id).await?;
        if is_default(id) {
            return Err(ManageError::DefaultRole);
        }
        let write = move |store: Store| async move { store.delete_role(id).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, role = id, "deleted a role");
        Ok(())
    }

    /// Fails if the caller may not give or remove the roles in which the two lists differ.
    pub(crate) async fn require_member_changes(
        &self,
        by: &UserIdentity,
        present: &[i64],
        wanted: &[i64],
    ) -> Result<(), ManageError> {
        let added = wanted.iter().filter(|id| !present.contains(id));
        let taken = present.iter().filter(|id| !wanted.contains(id));
        for (id, adds) in added
            .map(|id| (id, true))
            .chain(taken.map(|id| (id, false)))
        {
            let role = self.inner.store.role(*id).await?;
            let role = role.ok_or_else(|| ManageError::Associated {
                what: "role",
                id: id.to_string(),
            })?;
            self.require_member_change(by, &role, adds)?;
        }
        Ok(())
    }

    /// Fails if the caller lacks a permission of one of these roles.
    pub(crate) async fn require_rights_of_roles(
        &self,
        by: &UserIdentity,
        ids: &[i64],
    ) -> Result<(), ManageError> {
        for id in ids {
            if let Some(role) = self.inner.store.role(*id).await? {
                self.require_cover(by, &permissions_of(&role), true)?;
            }
        }
        Ok(())
    }

    fn require_member_change(
        &self,
        by: &UserIdentity,
        role: &RoleRow,
        adds: bool,
    ) -> Result<(), ManageError> {
        let key = role.id.to_string();
        self.authorize(
            by,
            RequestedPermission::on("user_roles", "edit_members", &key),
        )?;
        self.require_cover(by, &permissions_of(role), adds)
    }

    fn require_cover(
        &self,
        by: &UserIdentity,
        handed_on: &PermissionSet,
        adds: bool,
    ) -> Result<(), ManageError> {
        match by.permissions.first_missing(handed_on).filter(|_| adds) {
            None => Ok(()),
            Some(grant) => Err(permission_denied(by, &grant).into()),
        }
    }

    /// The validated row of a role, after the check that `by` may grant its permissions.
    async fn validate_role(
        &self,
        by: &UserIdentity,
        id: i64,
        spec: RoleSpec,
        present: &RoleRow,
    ) -> Result<RoleRow, ManageError> {
        let display_name = validate_name("display_name", &spec.display_name)?;
        let description = validate_text("description", &spec.description, TEXT_CHARS)?;
        let kept = |grant: &PermissionGrant| present.permissions.contains(&grant.clone().into());
        for grant in spec.permissions.iter().filter(|grant| !kept(grant)) {
            grant.check()?;
            if !by.permissions.covers(grant) {
                return Err(permission_denied(by, grant).into());
            }
        }
        let namesake = self.inner.store.role_id_by_name(&display_name).await?;
        if namesake.is_some_and(|other| other != id) {
            let (what, name) = ("role", display_name);
            return Err(ManageError::Conflict { what, name });
        }
        let row = RoleRow {
            id,
            display_name,
            description,
            permissions: unique(spec.permissions.into_iter().map(Into::into)),
            user_ids: unique(spec.user_ids),
            group_ids: unique(spec.group_ids),
        };
        self.check_members(&row, present).await?;
        Ok(row)
    }

    /// Fails if a new member does not exist or cannot have roles.
    async fn check_members(&self, row: &RoleRow, present: &RoleRow) -> Result<(), ManageError> {
        let store = &self.inner.store;
        let associated = |what, id: &String| ManageError::Associated {
            what,
            id: id.clone(),
        };
        for id in row
            .user_ids
            .iter()
            .filter(|id| !present.user_ids.contains(id))
        {
            if crate::first_users::is_immutable(id) {
                return Err(ManageError::AdminImmutable);
            }
            store
                .user(id)
                .await?
                .ok_or_else(|| associated("user", id))?;
        }
        for id in row
            .group_ids
            .iter()
            .filter(|id| !present.group_ids.contains(id))
        {
            store
                .group(id)
                .await?
                .ok_or_else(|| associated("group", id))?;
        }
        Ok(())
    }

    async fn put_role(
        &self,
        turn: RightsLock,
        present: &RoleRow,
        row: RoleRow,
    ) -> Result<(), StoreError> {
        let gaining = users_gaining_permissions(present, &row);
        let write = move |store: Store| async move {
            // Delete reset tokens first, so that an interrupted write gives no user too much.
            store.delete_password_resets(&gaining).await?;
            store.put_role(row).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await
    }
}

/// Members to add to a role and to remove from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberChange {
    /// Ids of users to add.
    pub add_users: Vec<String>,
    /// Ids of users to remove.
    pub remove_users: Vec<String>,
    /// Ids of user groups to add.
    pub add_groups: Vec<String>,
    /// Ids of user groups to remove.
    pub remove_groups: Vec<String>,
}

impl From<RoleRow> for RoleSpec {
    fn from(row: RoleRow) -> Self {
        Self {
            display_name: row.display_name,
            description: row.description,
            permissions: row
                .permissions
                .into_iter()
                .map(PermissionGrant::from)
                .collect(),
            user_ids: row.user_ids,
            group_ids: row.group_ids,
        }
    }
}

fn adds_members(present: &RoleRow, wanted: &RoleRow) -> bool {
    let new = |present: &[String], wanted: &[String]| wanted.iter().any(|id| !present.contains(id));
    new(&present.user_ids, &wanted.user_ids) || new(&present.group_ids, &wanted.group_ids)
}

/// Ids of users who have more permissions after the change. Members of groups are left out: they
/// are remote users, who have no password here that could be reset.
fn users_gaining_permissions(present: &RoleRow, wanted: &RoleRow) -> Vec<String> {
    let permissions = &wanted.permissions;
    let permits_more = permissions.iter().any(|p| !present.permissions.contains(p));
    let users = wanted.user_ids.iter();
    let gains = |id: &&String| permits_more || !present.user_ids.contains(id);
    users.filter(gains).cloned().collect()
}

fn unique<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let items: BTreeSet<T> = items.into_iter().collect();
    items.into_iter().collect()
}

pub(crate) fn unknown_role(id: i64) -> ManageError {
    ManageError::Unknown {
        what: "role",
        id: id.to_string(),
    }
}
