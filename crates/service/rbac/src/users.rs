//! Users: create, change, revoke and delete them. Main type: [`UserView`].
//!
//! Invariant: a caller who changes a user has every permission of that user, and a caller who gives
//! a role has every permission of the role. A user who gets a role loses all password reset tokens:
//! their creators only had the permissions that the user had before.

use std::collections::{BTreeSet, HashMap};

use secrecy::SecretString;
use store::{NewUserRow, Store, StoreError, UserChange, UserRow, now_ms};
use uuid::Uuid;

use crate::defaults::NAME_CHARS;
use crate::error::{validate_name, validate_text};
use crate::locked_write::CacheInvalidation;
use crate::{
    ManageError, PermissionDenied, Rbac, RequestedPermission, UserIdentity, check_new_password,
    first_users,
};

/// A user with roles and user groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserView {
    /// The row in the store.
    pub row: UserRow,
    /// Ids of the roles given to the user directly.
    pub role_ids: Vec<i64>,
    /// Ids of the roles inherited from user groups.
    pub inherited_role_ids: Vec<i64>,
    /// Ids of the user groups of the user.
    pub group_ids: Vec<String>,
    /// True while the user is locked after too many wrong passwords.
    pub is_locked: bool,
}

/// A user to create.
#[derive(Clone, Debug, Default)]
pub struct UserSpec {
    /// Name that the user logs in with.
    pub login: String,
    /// Full name, shown in lists.
    pub display_name: String,
    /// E-mail address; may be empty.
    pub email: String,
    /// Password; if `None`, the user needs a reset token before the first login.
    pub password: Option<SecretString>,
    /// Ids of the roles to give to the user.
    pub role_ids: Vec<i64>,
}

/// The new values of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEdit {
    /// Name that the user logs in with.
    pub login: String,
    /// Full name, shown in lists.
    pub display_name: String,
    /// E-mail address; may be empty.
    pub email: String,
    /// Ids of the roles; `None` leaves them unchanged.
    pub role_ids: Option<Vec<i64>>,
    /// True if the user may not log in (revoked or locked); `None` leaves this unchanged.
    pub is_revoked: Option<bool>,
}

impl Rbac {
    /// All users, sorted by login.
    pub async fn users(&self) -> Result<Vec<UserView>, StoreError> {
        let store = &self.inner.store;
        let mut own: HashMap<String, Vec<i64>> = HashMap::new();
        let mut by_group: HashMap<String, Vec<i64>> = HashMap::new();
        for role in store.roles().await? {
            for user in role.user_ids {
                own.entry(user).or_default().push(role.id);
            }
            for group in role.group_ids {
                by_group.entry(group).or_default().push(role.id);
            }
        }
        let mut groups: HashMap<String, Vec<String>> = HashMap::new();
        for (user, group) in store.memberships().await? {
            groups.entry(user).or_default().push(group);
        }
        let view = |row: UserRow| {
            let group_ids = groups.remove(&row.id).unwrap_or_default();
            let inherited = group_ids.iter().filter_map(|group| by_group.get(group));
            let inherited: BTreeSet<i64> = inherited.flatten().copied().collect();
            UserView {
                role_ids: own.remove(&row.id).unwrap_or_default(),
                inherited_role_ids: inherited.into_iter().collect(),
                group_ids,
                is_locked: self.is_locked(&row),
                row,
            }
        };
        Ok(store.users().await?.into_iter().map(view).collect())
    }

    /// The user with this id.
    pub async fn user(&self, id: &str) -> Result<UserView, ManageError> {
        let row = self.existing_user(id).await?;
        let store = &self.inner.store;
        Ok(UserView {
            role_ids: store.roles_of_user(id).await?,
            inherited_role_ids: store.inherited_roles(id).await?,
            group_ids: store.groups_of_user(id).await?,
            is_locked: self.is_locked(&row),
            row,
        })
    }

    /// The identity of a user, who need not be logged in.
    pub async fn load_identity(&self, id: &str) -> Result<UserIdentity, ManageError> {
        let row = self.existing_user(id).await?;
        Ok(UserIdentity::load(&self.inner.store, row).await?)
    }

    /// Creates a user and returns the id.
    pub async fn create_user(
        &self,
        by: &UserIdentity,
        spec: UserSpec,
    ) -> Result<String, ManageError> {
        self.authorize(by, RequestedPermission::on("users", "create", "*"))?;
        let login = validate_new_login(&spec.login)?;
        let display_name = validate_name("display_name", &spec.display_name)?;
        let email = validate_text("email", &spec.email, NAME_CHARS)?;
        let password_hash = match spec.password {
            Some(new) => {
                check_new_password(&new, Some(&login)).map_err(ManageError::Password)?;
                Some(self.inner.passwords.hash(new, &by.user_id).await?)
            }
            None => None,
        };
        let turn = self.lock_rights().await;
        self.check_login_is_free(&login).await?;
        self.require_member_changes(by, &[], &spec.role_ids).await?;
        let new = NewUserRow {
            id: Uuid::new_v4().to_string(),
            login,
            display_name,
            email,
            password_hash,
            is_superuser: false,
            is_remote: false,
            created_ms: now_ms(),
        };
        let (id, user_id) = (new.id.clone(), new.id.clone());
        let write = move |store: Store| async move {
            store.insert_user(new).await?;
            store.set_roles_of_user(&user_id, &spec.role_ids).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, user_id = id, "made a user");
        Ok(id)
    }

    /// Changes a user. Each part needs its own permission: names and e-mail address `users:edit`,
    /// roles `user_roles:edit_members` of each role, revocation `users:disable`. Remote users can
    /// be revoked and given roles, but their names and addresses come from the directory.
    ///
    /// Revoking and reinstating do the same as [`Rbac::set_revoked`]. A locked user counts as
    /// revoked here: if a client reads such a user and writes it back, the user stays locked and is
    /// not revoked.
    pub async fn update_user(
        &self,
        by: &UserIdentity,
        id: &str,
        update: UserEdit,
    ) -> Result<(), ManageError> {
        let turn = self.lock_rights().await;
        let row = self.changeable_user(id).await?;
        let login = validate_name("login", &update.login)?;
        let display_name = validate_name("display_name", &update.display_name)?;
        let email = validate_text("email", &update.email, NAME_CHARS)?;
        let texts = |login, name, email| [login, name, email];
        let renamed = texts(&login, &display_name, &email)
            != texts(&row.login, &row.display_name, &row.email);
        if renamed {
            self.authorize(by, RequestedPermission::on("users", "edit", id))?;
            if row.is_remote {
                return Err(ManageError::RemoteUser);
            }
            self.require_rights_of_user(by, row.clone()).await?;
            if login != row.login {
                self.check_login_is_free(&login).await?;
            }
        }
        let shown = row.is_revoked || self.is_locked(&row);
        let is_revoked = update.is_revoked.filter(|asked| *asked != shown);
        if is_revoked.is_some() {
            self.authorize(by, RequestedPermission::on("users", "disable", id))?;
        }
        let present = self.inner.store.roles_of_user(id).await?;
        let roles = update.role_ids.unwrap_or_else(|| present.clone());
        self.require_member_changes(by, &present, &roles).await?;
        let change = UserChange {
            login: Some(login),
            display_name: Some(display_name),
            email: Some(email),
            ..is_revoked.map_or_else(UserChange::default, revocation_change)
        };
        let gaining = users_gaining_roles(id, &present, &roles);
        let id = id.to_owned();
        let write = move |store: Store| async move {
            store.delete_password_resets(&gaining).await?;
            // The tokens come first: a repeated request would not find the revocation to be new.
            if is_revoked == Some(true) {
                store.revoke_tokens_of(&id, None, now_ms()).await?;
            }
            store.update_user(&id, change).await?;
            store.set_roles_of_user(&id, &roles).await
        };
        Ok(self
            .write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?)
    }

    /// Revokes a user, which invalidates the user's tokens, or reinstates a revoked or locked user.
    /// Needs `users:disable`.
    pub async fn set_revoked(
        &self,
        by: &UserIdentity,
        id: &str,
        revoked: bool,
    ) -> Result<(), ManageError> {
        self.authorize(by, RequestedPermission::on("users", "disable", id))?;
        let turn = self.lock_rights().await;
        self.changeable_user(id).await?;
        let change = revocation_change(revoked);
        let user_id = id.to_owned();
        let write = move |store: Store| async move {
            if revoked {
                store.revoke_tokens_of(&user_id, None, now_ms()).await?;
            }
            store.update_user(&user_id, change).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(
            by = by.login,
            user_id = id,
            revoked,
            "revoked or reinstated"
        );
        Ok(())
    }

    /// Adds roles to a user and removes others.
    pub async fn change_user_roles(
        &self,
        by: &UserIdentity,
        id: &str,
        add: &[i64],
        remove: &[i64],
    ) -> Result<(), ManageError> {
        let turn = self.lock_rights().await;
        self.changeable_user(id).await?;
        let present = self.inner.store.roles_of_user(id).await?;
        let mut roles: BTreeSet<i64> = present.iter().chain(add).copied().collect();
        roles.retain(|role| !remove.contains(role));
        let roles: Vec<i64> = roles.into_iter().collect();
        // The permission is required even if nothing changes.
        self.require_member_changes(by, &[], add).await?;
        self.require_member_changes(by, remove, &[]).await?;
        let gaining = users_gaining_roles(id, &present, &roles);
        let id = id.to_owned();
        let write = move |store: Store| async move {
            store.delete_password_resets(&gaining).await?;
            store.set_roles_of_user(&id, &roles).await
        };
        Ok(self
            .write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?)
    }

    /// Deletes a user and all tokens of the user. Needs `users:disable`.
    pub async fn delete_user(&self, by: &UserIdentity, id: &str) -> Result<(), ManageError> {
        self.authorize(by, RequestedPermission::on("users", "disable", id))?;
        let turn = self.lock_rights().await;
        self.changeable_user(id).await?;
        let user_id = id.to_owned();
        let write = move |store: Store| async move { store.delete_user(&user_id).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, user_id = id, "deleted a user");
        Ok(())
    }

    pub(crate) async fn existing_user(&self, id: &str) -> Result<UserRow, ManageError> {
        let user = self.inner.store.user(id).await?;
        user.ok_or_else(|| ManageError::Unknown {
            what: "user",
            id: id.to_owned(),
        })
    }

    async fn changeable_user(&self, id: &str) -> Result<UserRow, ManageError> {
        let user = self.existing_user(id).await?;
        match first_users::is_immutable(id) {
            true => Err(ManageError::AdminImmutable),
            false => Ok(user),
        }
    }

    async fn check_login_is_free(&self, login: &str) -> Result<(), ManageError> {
        match self.inner.store.user_by_login(login).await? {
            None => Ok(()),
            Some(_) => Err(ManageError::Conflict {
                what: "user",
                name: login.to_owned(),
            }),
        }
    }

    /// Fails if the caller lacks a permission that the user has.
    pub(crate) async fn require_rights_of_user(
        &self,
        by: &UserIdentity,
        user: UserRow,
    ) -> Result<(), ManageError> {
        let other = UserIdentity::load(&self.inner.store, user).await?;
        match by.permissions.first_missing(&other.permissions) {
            None => Ok(()),
            Some(grant) => Err(permission_denied(by, &grant).into()),
        }
    }
}

/// Reinstating a user also ends a lock.
fn revocation_change(revoked: bool) -> UserChange {
    UserChange {
        is_revoked: Some(revoked),
        failed_logins: (!revoked).then_some(0),
        ..UserChange::default()
    }
}

/// The id of the user, if the user gets a new role.
fn users_gaining_roles(id: &str, present: &[i64], roles: &[i64]) -> Vec<String> {
    let gains = roles.iter().any(|role| !present.contains(role));
    gains.then(|| id.to_owned()).into_iter().collect()
}

pub(crate) fn permission_denied(
    by: &UserIdentity,
    grant: &crate::PermissionGrant,
) -> PermissionDenied {
    PermissionDenied {
        login: by.login.clone(),
        permission: grant.to_string(),
    }
}

/// Validates the login of a new local user. A login that starts like an option would be parsed as
/// one on command lines.
fn validate_new_login(text: &str) -> Result<String, ManageError> {
    let login = validate_name("login", text)?;
    if login.starts_with(char::is_alphanumeric) {
        return Ok(login);
    }
    Err(ManageError::Invalid {
        place: "login",
        what: "must start with a letter or digit",
    })
}
