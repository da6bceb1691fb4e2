//! The authenticated user of a request, with the permissions of that user: [`UserIdentity`].

use std::sync::Arc;

use store::{Store, StoreError, UserRow};

use crate::permission::PermissionGrant;
use crate::permissions::PermissionSet;

/// A user with the roles and permissions that the user had when they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserIdentity {
    /// UUID of the user.
    pub user_id: String,
    /// Name that the user logs in with.
    pub login: String,
    /// Full name, shown in lists.
    pub display_name: String,
    /// E-mail address; empty if unknown.
    pub email: String,
    /// True if the user has every permission.
    pub is_superuser: bool,
    /// True if the user comes from an external directory.
    pub is_remote: bool,
    /// Time of the last login, in milliseconds since 1970; `None` if the user never logged in.
    pub last_login_ms: Option<i64>,
    /// Ids of the roles given to the user directly.
    pub role_ids: Vec<i64>,
    /// Ids of the roles inherited from user groups.
    pub inherited_role_ids: Vec<i64>,
    /// Ids of the user groups that the user is a member of.
    pub group_ids: Vec<String>,
    /// Id of the token that authenticated the request; `None` if there was no token.
    pub token_id: Option<String>,
    /// Union of the permissions of all roles.
    pub permissions: Arc<PermissionSet>,
}

impl UserIdentity {
    /// Reads the roles and user groups of the user.
    pub(crate) async fn load(store: &Store, user: UserRow) -> Result<Self, StoreError> {
        let role_ids = store.roles_of_user(&user.id).await?;
        let group_ids = store.groups_of_user(&user.id).await?;
        let inherited_role_ids = match group_ids.is_empty() {
            true => Vec::new(),
            false => store.inherited_roles(&user.id).await?,
        };
        let permissions = if user.is_superuser {
            PermissionSet::all()
        } else {
            let mut grants: Vec<PermissionGrant> = Vec::new();
            for id in role_ids.iter().chain(&inherited_role_ids) {
                // A role that was deleted in the meantime gives no permission.
                let role = store.role(*id).await?;
                grants.extend(
                    role.into_iter()
                        .flat_map(|role| role.permissions)
                        .map(PermissionGrant::from),
                );
            }
            PermissionSet::from_grants(&grants)
        };
        Ok(Self {
            user_id: user.id,
            login: user.login,
            display_name: user.display_name,
            email: user.email,
            is_superuser: user.is_superuser,
            is_remote: user.is_remote,
            last_login_ms: user.last_login_ms,
            role_ids,
            inherited_role_ids,
            group_ids,
            token_id: None,
            permissions: Arc::new(permissions),
        })
    }
}

impl From<store::GrantRow> for PermissionGrant {
    fn from(row: store::GrantRow) -> Self {
        Self::new(row.object_type, row.action, row.instance)
    }
}

impl From<PermissionGrant> for store::GrantRow {
    fn from(grant: PermissionGrant) -> Self {
        Self {
            object_type: grant.object_type,
            action: grant.action,
            instance: grant.instance,
        }
    }
}
