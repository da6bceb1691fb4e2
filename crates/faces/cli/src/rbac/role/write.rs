//! `tutti role create`, `edit`, `delete`, and the verbs that add to a role or remove from it.

use api_types::rbac::{NewRole, Role, RoleGroups, RolePermissions, RoleUpdate, RoleUsers};
use serde::Serialize;

use super::permission;
use crate::client::ApiClient;
use crate::rbac::find::{self, route_v1};
use crate::terminal::escape_control;
use crate::{EXIT_SUCCESS, Result, VerbResult};

/// Arguments of `tutti role create`.
#[derive(Debug, clap::Args)]
pub struct CreateOptions {
    /// Name of the new role
    name: String,
    /// Free text that describes the role
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// Permission: type:action or type:action:instance; may be given several times
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// User with this role, by login; may be given several times
    #[arg(long = "user", value_name = "USER")]
    users: Vec<String>,
}

/// Arguments of `tutti role edit`.
#[derive(Debug, clap::Args)]
pub struct EditOptions {
    /// Name or number of the role
    role: String,
    /// New name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// New description
    #[arg(long)]
    description: Option<String>,
}

/// Arguments of `tutti role add-permission` and `remove-permission`.
#[derive(Debug, clap::Args)]
pub struct PermissionsOptions {
    /// Name or number of the role
    role: String,
    /// Permissions: type:action or type:action:instance
    #[arg(required = true)]
    permissions: Vec<String>,
}

/// Arguments of the verbs that add members to a role or remove them.
#[derive(Debug, clap::Args)]
pub struct MembersOptions {
    /// Name or number of the role
    role: String,
    /// Users by login or id, groups by name or id
    #[arg(required = true)]
    members: Vec<String>,
}

pub(super) async fn create(options: CreateOptions, client: &ApiClient) -> VerbResult {
    let new = NewRole {
        display_name: options.name,
        description: options.description,
        permissions: permission::parse_all(&options.permissions)?,
        user_ids: user_ids(client, &options.users).await?,
        group_ids: Vec::new(),
    };
    let role: Role = client.post(&route_v1(["roles"]), &new).await?;
    say!(
        "Made role {} (number {})",
        escape_control(&role.display_name),
        role.id
    );
    Ok(EXIT_SUCCESS)
}

pub(super) async fn edit(options: EditOptions, client: &ApiClient) -> VerbResult {
    let role = find::role(client, &options.role).await?;
    let update = RoleUpdate {
        id: role.id,
        display_name: options.name.unwrap_or(role.display_name),
        description: options.description.unwrap_or(role.description),
        permissions: role.permissions,
        user_ids: role.user_ids,
        group_ids: role.group_ids,
    };
    let number = role.id.to_string();
    let role: Role = client.put(&route_v1(["roles", &number]), &update).await?;
    print_changed(&role)
}

pub(super) async fn delete(called: &str, client: &ApiClient) -> VerbResult {
    let role = find::role(client, called).await?;
    let number = role.id.to_string();
    client.delete(&route_v1(["roles", &number])).await?;
    say!("Deleted role {}", escape_control(&role.display_name));
    Ok(EXIT_SUCCESS)
}

/// Changes permissions; `command` is `add-permissions` or `remove-permissions`.
pub(super) async fn change_permissions(
    given: PermissionsOptions,
    command: &str,
    client: &ApiClient,
) -> VerbResult {
    let permissions = permission::parse_all(&given.permissions)?;
    let role = find::role(client, &given.role).await?;
    let body = RolePermissions {
        role_id: role.id,
        permissions,
    };
    change(&role, command, &body, client).await
}

/// Changes users; `command` is `add-users` or `remove-users`.
pub(super) async fn users(
    members: &MembersOptions,
    command: &str,
    client: &ApiClient,
) -> VerbResult {
    let role = find::role(client, &members.role).await?;
    let body = RoleUsers {
        role_id: role.id,
        user_ids: user_ids(client, &members.members).await?,
    };
    change(&role, command, &body, client).await
}

/// Changes groups; `command` is `add-groups` or `remove-groups`.
pub(super) async fn groups(
    members: &MembersOptions,
    command: &str,
    client: &ApiClient,
) -> VerbResult {
    let role = find::role(client, &members.role).await?;
    let mut group_ids = Vec::with_capacity(members.members.len());
    for called in &members.members {
        group_ids.push(find::group(client, called).await?.id);
    }
    let body = RoleGroups {
        role_id: role.id,
        group_ids,
    };
    change(&role, command, &body, client).await
}

async fn change(
    role: &Role,
    command: &str,
    body: &impl Serialize,
    client: &ApiClient,
) -> VerbResult {
    let path = route_v1(["command", "roles", command]);
    client.command(&path, body).await?;
    print_changed(role)
}

fn print_changed(role: &Role) -> VerbResult {
    say!("Changed role {}", escape_control(&role.display_name));
    Ok(EXIT_SUCCESS)
}

async fn user_ids(client: &ApiClient, called: &[String]) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(called.len());
    for called in called {
        ids.push(find::user(client, called).await?.id);
    }
    Ok(ids)
}
