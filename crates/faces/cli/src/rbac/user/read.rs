//! `tutti user list` and `tutti user show`.

use api_types::User;

use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::rbac::find::{self, RoleNames};
use crate::terminal::{self, harmless};
use crate::{EXIT_SUCCESS, Failure, Format, table};

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

pub(super) async fn list(options: &ListOptions, client: &Client) -> Result<u8, Failure> {
    let mut users = find::users(client).await?;
    users.sort_by(|one, other| one.login.cmp(&other.login));
    if options.shown.format == Format::Json {
        json(&users);
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let rows = users.iter().map(|user| {
        vec![
            terminal::name(harmless(&user.login)),
            state(user),
            harmless(&user.display_name),
            roles.shown(&user.role_ids),
            last_login(user),
            harmless(&user.email),
        ]
    });
    let heading = ["LOGIN", "STATE", "NAME", "ROLES", "LAST LOGIN", "EMAIL"];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

pub(super) async fn show(options: &ShowOptions, client: &Client) -> Result<u8, Failure> {
    let user = match &options.user {
        Some(called) => find::user(client, called).await?,
        None => find::current_user(client).await?,
    };
    if options.shown.format == Format::Json {
        json(&user);
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let mut fields = vec![
        ("login", harmless(&user.login)),
        ("id", harmless(&user.id)),
        ("name", harmless(&user.display_name)),
        ("email", harmless(&user.email)),
        ("state", state(&user)),
        ("roles", roles.shown(&user.role_ids)),
    ];
    if !user.inherited_role_ids.is_empty() {
        let inherited = roles.shown(&user.inherited_role_ids);
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
        } => terminal::bad("revoked"),
        User {
            is_superuser: true, ..
        } => terminal::warn("superuser"),
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
