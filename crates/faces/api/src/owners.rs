//! Owners of jobs: [`OwnerCache`].
//!
//! Invariants: each owner is looked up once for a response; and if the user's id was stored, the
//! current user with the same login is not shown in its place.

use std::collections::HashMap;

use api_types::{Owner, PreciseTimestamp};
use store::{StoreError, UserRow};

use crate::SharedApiContext;

/// Cache of owners by their stored login and id.
#[derive(Debug, Default)]
pub(crate) struct OwnerCache(HashMap<StoredOwner, Owner>);

/// The stored owner of a job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredOwner {
    /// Login at the time of the request.
    pub(crate) login: String,
    /// Id of the user; `None` if only the login was stored.
    pub(crate) id: Option<String>,
}

impl OwnerCache {
    pub(crate) async fn load(
        api: &SharedApiContext,
        all: Vec<StoredOwner>,
    ) -> Result<Self, StoreError> {
        let mut owners = HashMap::new();
        for kept in all {
            if owners.contains_key(&kept) {
                continue;
            }
            let owner = owner(api, &kept).await?;
            owners.insert(kept, owner);
        }
        Ok(Self(owners))
    }

    pub(crate) fn get(&self, kept: &StoredOwner) -> Owner {
        self.0.get(kept).cloned().unwrap_or_default()
    }
}

impl StoredOwner {
    pub(crate) fn login(login: &str) -> Self {
        Self {
            login: login.to_owned(),
            id: None,
        }
    }

    pub(crate) fn user(login: &str, id: &str) -> Self {
        Self {
            login: login.to_owned(),
            id: Some(id.to_owned()),
        }
    }
}

/// The user; for a deleted user, only the login.
pub(crate) async fn owner(api: &SharedApiContext, kept: &StoredOwner) -> Result<Owner, StoreError> {
    let found = match &kept.id {
        Some(id) => api.store.user(id).await?,
        None => api.store.user_by_login(&kept.login).await?,
    };
    match found {
        Some(user) => to_owner(api, user).await,
        None => Ok(Owner {
            login: kept.login.clone(),
            is_revoked: true,
            ..Owner::default()
        }),
    }
}

async fn to_owner(api: &SharedApiContext, user: UserRow) -> Result<Owner, StoreError> {
    Ok(Owner {
        role_ids: api.store.roles_of_user(&user.id).await?,
        inherited_role_ids: api.store.inherited_roles(&user.id).await?,
        group_ids: api.store.groups_of_user(&user.id).await?,
        id: user.id,
        login: user.login,
        email: user.email,
        display_name: user.display_name,
        last_login: user.last_login_ms.map(PreciseTimestamp::from_ms),
        is_revoked: user.is_revoked,
        is_remote: user.is_remote,
        is_superuser: user.is_superuser,
        is_group: false,
    })
}
