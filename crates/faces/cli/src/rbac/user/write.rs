//! `tutti user create`, `edit`, `delete`, `revoke`, `reinstate`, `add-role` and `remove-role`.

use std::path::PathBuf;

use api_types::User;
use api_types::rbac::{NewUser, UserName, UserRoles, UserUpdate};
use secrecy::ExposeSecret as _;

use crate::access::login::first_line;
use crate::client::ApiClient;
use crate::rbac::find::{self, route_v1};
use crate::terminal::escape_control;
use crate::{EXIT_SUCCESS, VerbResult};

/// Arguments of `tutti user create`.
#[derive(Debug, clap::Args)]
pub struct CreateOptions {
    /// Login name
    login: String,
    /// Display name [default: the login]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Email address
    #[arg(long, value_name = "ADDRESS", default_value = "")]
    email: String,
    /// Role of the user, by name or number; may be given several times
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// File whose first line is the password; without it, use `tutti user reset` to set one
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Arguments of `tutti user edit`.
#[derive(Debug, clap::Args)]
pub struct EditOptions {
    /// Login or id of the user
    user: String,
    /// New login
    #[arg(long, value_name = "LOGIN")]
    login: Option<String>,
    /// New display name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// New email address
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
}

/// Arguments of `tutti user delete`, `revoke` and `reinstate`.
#[derive(Debug, clap::Args)]
pub struct UserOptions {
    /// Login or id of the user
    user: String,
}

/// Arguments of `tutti user add-role` and `remove-role`.
#[derive(Debug, clap::Args)]
pub struct RolesOptions {
    /// Login or id of the user
    user: String,
    /// Roles, by their names or numbers
    #[arg(required = true)]
    roles: Vec<String>,
}

pub(super) async fn create(options: CreateOptions, client: &ApiClient) -> VerbResult {
    let file = options.password_file.as_deref();
    let password = file.map(first_line).transpose()?;
    let has_password = password.is_some();
    let new = NewUser {
        display_name: options.name.unwrap_or_else(|| options.login.clone()),
        login: options.login,
        email: options.email,
        role_ids: find::role_ids(client, &options.roles).await?,
        password: password.map(|password| password.expose_secret().to_owned()),
    };
    let user: User = client.post(&route_v1(["users"]), &new).await?;
    let login = escape_control(&user.login);
    say!("Made user {login} ({})", escape_control(&user.id));
    if !has_password {
        say!("There is no password yet; `tutti user reset {login}` creates a token to set one.");
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn edit(options: EditOptions, client: &ApiClient) -> VerbResult {
    let user = find::user(client, &options.user).await?;
    let update = UserUpdate {
        id: user.id.clone(),
        login: options.login.unwrap_or(user.login),
        email: options.email.unwrap_or(user.email),
        display_name: options.name.unwrap_or(user.display_name),
        role_ids: None,
        is_revoked: None,
        inherited_role_ids: Vec::new(),
        group_ids: Vec::new(),
        is_group: false,
        is_remote: false,
        is_superuser: false,
        last_login: None,
    };
    let user: User = client.put(&route_v1(["users", &user.id]), &update).await?;
    say!("Changed user {}", escape_control(&user.login));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn delete(one: &UserOptions, client: &ApiClient) -> VerbResult {
    let user = find::user(client, &one.user).await?;
    client.delete(&route_v1(["users", &user.id])).await?;
    say!("Deleted user {}", escape_control(&user.login));
    Ok(EXIT_SUCCESS)
}

/// Runs a command about one user; `done` is the message about its success.
pub(super) async fn command(
    one: &UserOptions,
    command: &str,
    done: &str,
    client: &ApiClient,
) -> VerbResult {
    let user = find::user(client, &one.user).await?;
    let body = UserName { user_id: user.id };
    let path = route_v1(["command", "users", command]);
    client.command(&path, &body).await?;
    say!("{done} user {}", escape_control(&user.login));
    Ok(EXIT_SUCCESS)
}

/// Changes roles; `command` is `add-roles` or `remove-roles`.
pub(super) async fn roles(options: &RolesOptions, command: &str, client: &ApiClient) -> VerbResult {
    let user = find::user(client, &options.user).await?;
    let role_ids = find::role_ids(client, &options.roles).await?;
    let body = UserRoles {
        user_id: user.id,
        role_ids,
    };
    let path = route_v1(["command", "users", command]);
    client.command(&path, &body).await?;
    say!("Changed the roles of user {}", escape_control(&user.login));
    Ok(EXIT_SUCCESS)
}
