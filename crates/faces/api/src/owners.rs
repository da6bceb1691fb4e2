//! Who started jobs: [`Owners`].
//!
//! The rules: each owner is looked up once for a reply; and where the user's id was kept, his login
//! shows nobody who bears it now.

use std::collections::HashMap;

use api_types::{Owner, PreciseTimestamp};
use store::{StoreError, UserRow};

use crate::Shared;

/// Owners by what was kept of them.
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<Kept, Owner>);

/// What was kept of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    /// At the time.
    pub(crate) login: String,
    /// `None`: only the login was kept.
    pub(crate) id: Option<String>,
}

impl Owners {
    pub(crate) async fn of(api: &Shared, all: Vec<Kept>) -> Result<Self, StoreError> {
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

    pub(crate) fn get(&self, kept: &Kept) -> Owner {
        self.0.get(kept).cloned().unwrap_or_default()
    }
}

impl Kept {
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

/// The user; of one who is gone, the login is left.
pub(crate) async fn owner(api: &Shared, kept: &Kept) -> Result<Owner, StoreError> {
    let found = match &kept.id {
        Some(id) => api.store.user(id).await?,
        None => api.store.user_by_login(&kept.login).await?,
    };
    match found {
        Some(user) => known(api, user).await,
        None => Ok(Owner {
            login: kept.login.clone(),
            is_revoked: true,
            ..Owner::default()
        }),
    }
}

async fn known(api: &Shared, user: UserRow) -> Result<Owner, StoreError> {
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
