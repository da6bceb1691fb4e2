//! Who sent a request, and what he may do: [`Identity`].

use std::sync::Arc;

use store::{Store, StoreError, UserRow};

use crate::permission::Grant;
use crate::permissions::Permissions;

/// Who a token belongs to, with all that he may do at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's UUID.
    pub user_id: String,
    /// The name to log in with.
    pub login: String,
    /// The name for people.
    pub display_name: String,
    /// Empty when unknown.
    pub email: String,
    /// May do everything.
    pub is_superuser: bool,
    /// Comes from a directory.
    pub is_remote: bool,
    /// The last login, in milliseconds since the epoch.
    pub last_login_ms: Option<i64>,
    /// The user's own roles.
    pub role_ids: Vec<i64>,
    /// The roles that he has by his groups.
    pub inherited_role_ids: Vec<i64>,
    /// His groups.
    pub group_ids: Vec<String>,
    /// The id of the token that he showed; `None`: he showed none.
    pub token_id: Option<String>,
    /// The sum of all roles.
    pub permissions: Arc<Permissions>,
}

impl Identity {
    /// Reads roles and groups of the user.
    pub(crate) async fn load(store: &Store, user: UserRow) -> Result<Self, StoreError> {
        let role_ids = store.roles_of_user(&user.id).await?;
        let group_ids = store.groups_of_user(&user.id).await?;
        let inherited_role_ids = match group_ids.is_empty() {
            true => Vec::new(),
            false => store.inherited_roles(&user.id).await?,
        };
        let permissions = if user.is_superuser {
            Permissions::everything()
        } else {
            let mut grants: Vec<Grant> = Vec::new();
            for id in role_ids.iter().chain(&inherited_role_ids) {
                // A role that was deleted in between gives nothing.
                let role = store.role(*id).await?;
                grants.extend(
                    role.into_iter()
                        .flat_map(|role| role.permissions)
                        .map(Grant::from),
                );
            }
            Permissions::of(&grants)
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

impl From<store::GrantRow> for Grant {
    fn from(row: store::GrantRow) -> Self {
        Self::new(row.object_type, row.action, row.instance)
    }
}

impl From<Grant> for store::GrantRow {
    fn from(grant: Grant) -> Self {
        Self {
            object_type: grant.object_type,
            action: grant.action,
            instance: grant.instance,
        }
    }
}
