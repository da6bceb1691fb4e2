//! Finds users, roles and groups by name or id. Main functions: [`user`], [`role`], [`group`].
//!
//! Invariant: an id is taken as it is, a name must match exactly; nothing is guessed.

use std::collections::HashMap;

use api_types::User;
use api_types::rbac::{Group, Role};
use uuid::Uuid;

use crate::client::{ApiClient, route};
use crate::terminal::escape_control;
use crate::{CommandFailure, Result};

/// The segments of a route in version 1 of the API.
pub(crate) fn route_v1<const N: usize>(rest: [&str; N]) -> Vec<&str> {
    route(["rbac-api", "v1"], rest)
}

pub(crate) async fn users(client: &ApiClient) -> Result<Vec<User>> {
    client.get(&route_v1(["users"]), &[]).await
}

/// The user to whom the token belongs.
pub(crate) async fn current_user(client: &ApiClient) -> Result<User> {
    client.get(&route_v1(["users", "current"]), &[]).await
}

/// The user with this login or id. The current user is found without the permission to see others.
pub(crate) async fn user(client: &ApiClient, called: &str) -> Result<User> {
    if Uuid::parse_str(called).is_ok() {
        return client.get(&route_v1(["users", called]), &[]).await;
    }
    let myself = current_user(client).await?;
    if myself.login == called {
        return Ok(myself);
    }
    find("user", called, users(client).await?, |user| {
        user.login == called
    })
}

/// The user with this login or id; the current user if none is named.
pub(crate) async fn user_or_self(client: &ApiClient, called: Option<&str>) -> Result<User> {
    match called {
        Some(called) => user(client, called).await,
        None => current_user(client).await,
    }
}

pub(crate) async fn roles(client: &ApiClient) -> Result<Vec<Role>> {
    client.get(&route_v1(["roles"]), &[]).await
}

/// The role with this number or name.
pub(crate) async fn role(client: &ApiClient, called: &str) -> Result<Role> {
    find_role(&roles(client).await?, called).cloned()
}

/// The numbers of the roles with these numbers or names.
pub(crate) async fn role_ids(client: &ApiClient, called: &[String]) -> Result<Vec<i64>> {
    if called.is_empty() {
        return Ok(Vec::new());
    }
    let roles = roles(client).await?;
    let id = |called: &String| find_role(&roles, called).map(|role| role.id);
    called.iter().map(id).collect()
}

fn find_role<'a>(roles: &'a [Role], called: &str) -> Result<&'a Role> {
    let number = called.parse::<i64>().ok();
    let fits = |role: &&Role| Some(role.id) == number || role.display_name == called;
    find("role", called, roles, fits)
}

pub(crate) async fn groups(client: &ApiClient) -> Result<Vec<Group>> {
    client.get(&route_v1(["groups"]), &[]).await
}

/// The group of users with this name or id.
pub(crate) async fn group(client: &ApiClient, called: &str) -> Result<Group> {
    if Uuid::parse_str(called).is_ok() {
        return client.get(&route_v1(["groups", called]), &[]).await;
    }
    find("group", called, groups(client).await?, |group| {
        group.login == called
    })
}

fn find<T>(
    kind: &str,
    called: &str,
    all: impl IntoIterator<Item = T>,
    fits: impl Fn(&T) -> bool,
) -> Result<T> {
    all.into_iter().find(fits).ok_or_else(|| {
        let called = escape_control(called);
        CommandFailure::Usage(format!(
            "there is no {kind} `{called}` that you may see; `tutti {kind} list` shows them"
        ))
    })
}

/// The names of roles by number; empty if the user may not see roles.
#[derive(Debug, Default)]
pub(crate) struct RoleNames(HashMap<i64, String>);

impl RoleNames {
    pub(crate) async fn read(client: &ApiClient) -> Result<Self> {
        let roles = match roles(client).await {
            Err(CommandFailure::Refused { status: 403, .. }) => Vec::new(),
            roles => roles?,
        };
        let names = roles.into_iter().map(|role| (role.id, role.display_name));
        Ok(Self(names.collect()))
    }

    pub(crate) fn join_names(&self, ids: &[i64]) -> String {
        let names = ids.iter().map(|id| match self.0.get(id) {
            Some(name) => escape_control(name),
            None => id.to_string(),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}
