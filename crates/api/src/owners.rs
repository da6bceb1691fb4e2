//! Who started jobs: [`Owners`].
//!
//! The rule: each login is looked up once for a reply.

use std::collections::HashMap;

use api_types::{Owner, PreciseTimestamp};
use store::{StoreError, UserRow};

use crate::Shared;

/// Owners by their login.
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<String, Owner>);

impl Owners {
    pub(crate) async fn of(api: &Shared, logins: Vec<String>) -> Result<Self, StoreError> {
        let mut owners = HashMap::new();
        for login in logins {
            if owners.contains_key(&login) {
                continue;
            }
            let owner = owner(api, &login).await?;
            owners.insert(login, owner);
        }
        Ok(Self(owners))
    }

    pub(crate) fn get(&self, login: &str) -> Owner {
        self.0.get(login).cloned().unwrap_or_default()
    }
}

/// The user with this login; of one who is gone, the login is left.
pub(crate) async fn owner(api: &Shared, login: &str) -> Result<Owner, StoreError> {
    match api.store.user_by_login(login).await? {
        Some(user) => known(api, user).await,
        None => Ok(Owner {
            login: login.to_owned(),
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
