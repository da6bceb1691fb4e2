//! User groups imported from a directory, and the roles of their members. Main type: [`GroupView`].

use store::{GroupRow, Store, StoreError};
use uuid::Uuid;

use crate::error::validate_name;
use crate::locked_write::CacheInvalidation;
use crate::{ManageError, Rbac, RequestedPermission, UserIdentity};

/// A user group with roles and known members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupView {
    /// The row in the store.
    pub row: GroupRow,
    /// Ids of the roles of the group.
    pub role_ids: Vec<i64>,
    /// Ids of users who were members at their last login.
    pub user_ids: Vec<String>,
}

/// A user group to import, or the new values of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupSpec {
    /// Name of the group in the directory.
    pub login: String,
    /// Name shown in lists; if empty, the login is used.
    pub display_name: String,
    /// Ids of the roles to give to the group.
    pub role_ids: Vec<i64>,
    /// Directory of the group, written as [`RemoteUser::origin`](crate::RemoteUser::origin). `None`
    /// leaves it as it is; a new group then has no directory and therefore no members.
    pub origin: Option<String>,
}

impl Rbac {
    /// All user groups, sorted by login.
    pub async fn groups(&self) -> Result<Vec<GroupView>, StoreError> {
        let mut views = Vec::new();
        for row in self.inner.store.groups().await? {
            views.push(self.group_view(row).await?);
        }
        Ok(views)
    }

    /// The group with this id.
    pub async fn group(&self, id: &str) -> Result<GroupView, ManageError> {
        let row = self.inner.store.group(id).await?;
        let row = row.ok_or_else(|| ManageError::Unknown {
            what: "group",
            id: id.to_owned(),
        })?;
        Ok(self.group_view(row).await?)
    }

    /// Imports a group and returns its id. Users become members at their next login. Needs
    /// `user_groups:import`, and for each role the permission to give it.
    pub async fn create_group(
        &self,
        by: &UserIdentity,
        spec: GroupSpec,
    ) -> Result<String, ManageError> {
        self.authorize(by, RequestedPermission::on("user_groups", "import", "*"))?;
        let login = validate_name("login", &spec.login)?;
        let display_name = validate_display_name(&spec, &login)?;
        let turn = self.lock_rights().await;
        if self
            .inner
            .store
            .groups()
            .await?
            .iter()
            .any(|group| group.login == login)
        {
            let (what, name) = ("group", login);
            return Err(ManageError::Conflict { what, name });
        }
        self.require_member_changes(by, &[], &spec.role_ids).await?;
        let id = Uuid::new_v4().to_string();
        let row = GroupRow {
            id: id.clone(),
            login,
            display_name,
            origin: spec.origin.unwrap_or_default(),
        };
        let write = move |store: Store| async move {
            let group_id = row.id.clone();
            store.insert_group(row).await?;
            store.set_roles_of_group(&group_id, &spec.role_ids).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, group_id = id, "imported a group");
        Ok(id)
    }

    /// Changes the roles, the display name and the directory. The login cannot be changed. A caller
    /// who binds the group to another directory must have every permission of its roles.
    pub async fn update_group(
        &self,
        by: &UserIdentity,
        id: &str,
        spec: GroupSpec,
    ) -> Result<(), ManageError> {
        let turn = self.lock_rights().await;
        let present = self.group(id).await?;
        let display_name = validate_display_name(&spec, &present.row.login)?;
        if display_name != present.row.display_name {
            self.authorize(by, RequestedPermission::on("user_groups", "import", "*"))?;
        }
        self.require_member_changes(by, &present.role_ids, &spec.role_ids)
            .await?;
        let origin = spec.origin.filter(|origin| *origin != present.row.origin);
        if origin.is_some() {
            self.authorize(by, RequestedPermission::on("user_groups", "import", "*"))?;
            self.require_rights_of_roles(by, &present.role_ids).await?;
        }
        let id = id.to_owned();
        let write = move |store: Store| async move {
            if let Some(origin) = origin {
                store.bind_group(&id, &origin).await?;
            }
            store.rename_group(&id, &display_name).await?;
            store.set_roles_of_group(&id, &spec.role_ids).await
        };
        Ok(self
            .write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?)
    }

    /// Deletes a group; its members lose its roles. Needs `user_groups:delete`.
    pub async fn delete_group(&self, by: &UserIdentity, id: &str) -> Result<(), ManageError> {
        self.authorize(by, RequestedPermission::on("user_groups", "delete", id))?;
        let turn = self.lock_rights().await;
        self.group(id).await?;
        let group_id = id.to_owned();
        let write = move |store: Store| async move { store.delete_group(&group_id).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, group_id = id, "deleted a group");
        Ok(())
    }

    /// Binds groups that have no directory, because an older version imported them: to the
    /// directory in `origins` if there is exactly one, else to none. Logs groups that no user can
    /// be a member of. Call it at every start.
    pub async fn bind_groups(&self, origins: &[String]) -> Result<(), StoreError> {
        let turn = self.lock_rights().await;
        let only = match origins {
            [only] => only.clone(),
            _ => String::new(),
        };
        let write = move |store: Store| async move { store.bind_undecided_groups(&only).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        for group in self.inner.store.groups().await? {
            if !origins.contains(&group.origin) {
                tracing::warn!(
                    group = group.login,
                    origin = group.origin,
                    "an imported group is of no directory that is set, so it has no members; \
                     bind it with identity_provider_id (PUT /rbac-api/v1/groups/ID)"
                );
            }
        }
        Ok(())
    }

    async fn group_view(&self, row: GroupRow) -> Result<GroupView, StoreError> {
        Ok(GroupView {
            role_ids: self.inner.store.roles_of_group(&row.id).await?,
            user_ids: self.inner.store.group_members(&row.id).await?,
            row,
        })
    }
}

fn validate_display_name(spec: &GroupSpec, login: &str) -> Result<String, ManageError> {
    match spec.display_name.trim().is_empty() {
        true => Ok(login.to_owned()),
        false => validate_name("display_name", &spec.display_name),
    }
}
