//! Finds users, roles and groups by name or id. Main functions: [`user`], [`role`], [`group`].
//!
//! Invariant: an id is taken as it is, a name must match exactly; nothing is guessed.

use std::collections::HashMap;

use api_types::User;
use api_types::rbac::{Group, Role};
use uuid::Uuid;

use crate::client::ApiClient;
use crate::{CommandFailure, terminal};

/// The segments of a route in version 1 of the API.
pub(crate) fn route_v1<const N: usize>(rest: [&str; N]) -> Vec<&str> {
    ["rbac-api", "v1"].into_iter().chain(rest).collect()
}

pub(crate) async fn users(client: &ApiClient) -> Result<Vec<User>, CommandFailure> {
    client.get(&route_v1(["users"]), &[]).await
}

/// The user to whom the token belongs.
pub(crate) async fn current_user(client: &ApiClient) -> Result<User, CommandFailure> {
    client.get(&route_v1(["users", "current"]), &[]).await
}

/// The user with this login or id. The current user is found without the permission to see others.
pub(crate) async fn user(client: &ApiClient, called: &str) -> Result<User, CommandFailure> {
    if Uuid::parse_str(called).is_ok() {
        return client.get(&route_v1(["users", called]), &[]).await;
    }
    let myself = current_user(client).await?;
    if myself.login == called {
        return Ok(myself);
    }
    let found = users(client)
        .await?
        .into_iter()
        .find(|user| user.login == called);
    found.ok_or_else(|| unknown_name_error("user", called))
}

pub(crate) async fn roles(client: &ApiClient) -> Result<Vec<Role>, CommandFailure> {
    client.get(&route_v1(["roles"]), &[]).await
}

/// The role with this number or name.
pub(crate) async fn role(client: &ApiClient, called: &str) -> Result<Role, CommandFailure> {
    one_role(&roles(client).await?, called).cloned()
}

/// The numbers of the roles with these numbers or names.
pub(crate) async fn role_ids(
    client: &ApiClient,
    called: &[String],
) -> Result<Vec<i64>, CommandFailure> {
    if called.is_empty() {
        return Ok(Vec::new());
    }
    let roles = roles(client).await?;
    let ids = called
        .iter()
        .map(|called| one_role(&roles, called).map(|role| role.id));
    ids.collect()
}

fn one_role<'a>(roles: &'a [Role], called: &str) -> Result<&'a Role, CommandFailure> {
    let number = called.parse::<i64>().ok();
    let fits = |role: &&Role| Some(role.id) == number || role.display_name == called;
    roles
        .iter()
        .find(fits)
        .ok_or_else(|| unknown_name_error("role", called))
}

pub(crate) async fn groups(client: &ApiClient) -> Result<Vec<Group>, CommandFailure> {
    client.get(&route_v1(["groups"]), &[]).await
}

/// The group of users with this name or id.
pub(crate) async fn group(client: &ApiClient, called: &str) -> Result<Group, CommandFailure> {
    if Uuid::parse_str(called).is_ok() {
        return client.get(&route_v1(["groups", called]), &[]).await;
    }
    let found = groups(client)
        .await?
        .into_iter()
        .find(|group| group.login == called);
    found.ok_or_else(|| unknown_name_error("group", called))
}

/// The names of roles by number; empty if the user may not see roles.
#[derive(Debug, Default)]
pub(crate) struct RoleNames(HashMap<i64, String>);

impl RoleNames {
    pub(crate) async fn read(client: &ApiClient) -> Result<Self, CommandFailure> {
        match roles(client).await {
            Ok(roles) => Ok(Self::from_roles(roles)),
            Err(CommandFailure::Refused { status: 403, .. }) => Ok(Self::default()),
            Err(failure) => Err(failure),
        }
    }

    pub(crate) fn from_roles(roles: Vec<Role>) -> Self {
        let names = roles.into_iter().map(|role| (role.id, role.display_name));
        Self(names.collect())
    }

    pub(crate) fn join_names(&self, ids: &[i64]) -> String {
        let names = ids.iter().map(|id| match self.0.get(id) {
            Some(name) => terminal::escape_control(name),
            None => id.to_string(),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

fn unknown_name_error(kind: &str, called: &str) -> CommandFailure {
    let called = terminal::escape_control(called);
    CommandFailure::Usage(format!(
        "there is no {kind} `{called}` that you may see; `tutti {kind} list` shows them"
    ))
}
