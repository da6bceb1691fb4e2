//! `tutti user create`, `edit`, `delete`, `revoke`, `reinstate`, `add-role` and `remove-role`.

use std::path::PathBuf;

use api_types::User;
use api_types::rbac::{NewUser, UserName, UserRoles, UserUpdate};
use reqwest::Method;
use secrecy::ExposeSecret as _;

use crate::access::login::first_line;
use crate::client::Client;
use crate::rbac::find::{self, v1};
use crate::terminal::harmless;
use crate::{EXIT_SUCCESS, Failure};

/// Who comes.
#[derive(Debug, clap::Args)]
pub struct Create {
    /// The name to log in with
    login: String,
    /// The name for people [default: the login]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The address
    #[arg(long, value_name = "ADDRESS", default_value = "")]
    email: String,
    /// A role by its name or number; may be given several times
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// The first line of this file is the password; without, the user needs `tutti user reset`
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// What changes.
#[derive(Debug, clap::Args)]
pub struct Edit {
    /// The user's login or id
    user: String,
    /// Another login
    #[arg(long, value_name = "LOGIN")]
    login: Option<String>,
    /// Another name for people
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Another address
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
}

/// One user.
#[derive(Debug, clap::Args)]
pub struct One {
    /// The user's login or id
    user: String,
}

/// A user and roles.
#[derive(Debug, clap::Args)]
pub struct Roles {
    /// The user's login or id
    user: String,
    /// Roles, by their names or numbers
    #[arg(required = true)]
    roles: Vec<String>,
}

pub(super) async fn create(options: Create, client: &Client) -> Result<u8, Failure> {
    let password = options
        .password_file
        .as_deref()
        .map(first_line)
        .transpose()?;
    let has_password = password.is_some();
    let new = NewUser {
        display_name: options.name.unwrap_or_else(|| options.login.clone()),
        login: options.login,
        email: options.email,
        role_ids: find::role_ids(client, &options.roles).await?,
        password: password.map(|password| password.expose_secret().to_owned()),
    };
    let user: User = client.post(&v1(["users"]), &new).await?;
    let login = harmless(&user.login);
    say!("Made user {login} ({})", harmless(&user.id));
    if !has_password {
        say!("There is no password yet; `tutti user reset {login}` makes a token to set one.");
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn edit(options: Edit, client: &Client) -> Result<u8, Failure> {
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
    let user: User = client.put(&v1(["users", &user.id]), &update).await?;
    say!("Changed user {}", harmless(&user.login));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn delete(one: &One, client: &Client) -> Result<u8, Failure> {
    let user = find::user(client, &one.user).await?;
    client.delete(&v1(["users", &user.id])).await?;
    say!("Deleted user {}", harmless(&user.login));
    Ok(EXIT_SUCCESS)
}

/// One of the commands about one user; `done` says that it was done.
pub(super) async fn command(
    one: &One,
    command: &str,
    done: &str,
    client: &Client,
) -> Result<u8, Failure> {
    let user = find::user(client, &one.user).await?;
    let body = UserName { user_id: user.id };
    let path = v1(["command", "users", command]);
    client.done(Method::POST, &path, &body).await?;
    say!("{done} user {}", harmless(&user.login));
    Ok(EXIT_SUCCESS)
}

/// `command` is `add-roles` or `remove-roles`.
pub(super) async fn roles(options: &Roles, command: &str, client: &Client) -> Result<u8, Failure> {
    let user = find::user(client, &options.user).await?;
    let role_ids = find::role_ids(client, &options.roles).await?;
    let body = UserRoles {
        user_id: user.id,
        role_ids,
    };
    let path = v1(["command", "users", command]);
    client.done(Method::POST, &path, &body).await?;
    say!("Changed the roles of user {}", harmless(&user.login));
    Ok(EXIT_SUCCESS)
}
