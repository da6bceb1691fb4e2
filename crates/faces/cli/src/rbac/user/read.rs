//! `tutti user list` and `tutti user show`.

use api_types::User;

use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::rbac::find::{self, RoleNames};
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table};

/// Arguments of `tutti user list`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti user show`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Login or id of the user; yourself when absent
    user: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn list(options: &ListOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let mut users = find::users(client).await?;
    users.sort_by(|one, other| one.login.cmp(&other.login));
    if options.shown.format == OutputFormat::Json {
        json(&users);
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let rows = users.iter().map(|user| {
        vec![
            terminal::style_name(escape_control(&user.login)),
            state(user),
            escape_control(&user.display_name),
            roles.join_names(&user.role_ids),
            last_login(user),
            escape_control(&user.email),
        ]
    });
    let heading = ["LOGIN", "STATE", "NAME", "ROLES", "LAST LOGIN", "EMAIL"];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

pub(super) async fn show(options: &ShowOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let user = match &options.user {
        Some(called) => find::user(client, called).await?,
        None => find::current_user(client).await?,
    };
    if options.shown.format == OutputFormat::Json {
        json(&user);
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let mut fields = vec![
        ("login", escape_control(&user.login)),
        ("id", escape_control(&user.id)),
        ("name", escape_control(&user.display_name)),
        ("email", escape_control(&user.email)),
        ("state", state(&user)),
        ("roles", roles.join_names(&user.role_ids)),
    ];
    if !user.inherited_role_ids.is_empty() {
        let inherited = roles.join_names(&user.inherited_role_ids);
        fields.push(("roles by groups", inherited));
    }
    fields.push(("last login", last_login(&user)));
    table::fields(&fields);
    Ok(EXIT_SUCCESS)
}

fn state(user: &User) -> String {
    match user {
        User {
            is_revoked: true, ..
        } => terminal::style_failure("revoked"),
        User {
            is_superuser: true, ..
        } => terminal::style_warning("superuser"),
        User {
            is_remote: true, ..
        } => "of a directory".to_owned(),
        _ => "active".to_owned(),
    }
}

fn last_login(user: &User) -> String {
    let time = user.last_login;
    time.map_or_else(|| "never".to_owned(), |time| time.to_string())
}
