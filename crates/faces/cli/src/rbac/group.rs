//! `tutti group …`: groups of users, from a directory. Main type: [`Verb`].

use api_types::rbac::{Group, GroupImport, GroupUpdate};

use super::find::{self, RoleNames, v1};
use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::settings::Connection;
use crate::terminal::{self, harmless};
use crate::{EXIT_SUCCESS, Failure, Format, table};

/// Verbs of `tutti group`.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// List the groups
    #[command(after_long_help = "Example:\n  tutti group list")]
    List(OutputOptions),
    /// Show one group, its roles and its members
    #[command(after_long_help = "Example:\n  tutti group show linux-admins")]
    Show(ShowOptions),
    /// Import a group of an external directory; its members get its roles at their next login
    #[command(
        visible_alias = "create",
        after_long_help = "Example:\n  tutti group import linux-admins --role Operators"
    )]
    Import(ImportOptions),
    /// Change a group's display name or directory; roles are changed with `tutti role add-group`
    #[command(after_long_help = "Example:\n  tutti group edit linux-admins --name 'Linux admins'")]
    Edit(EditOptions),
    /// Delete a group; its members lose the roles that they had through it
    #[command(after_long_help = "Example:\n  tutti group delete linux-admins")]
    Delete(DeleteOptions),
}

/// Arguments of `tutti group show`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Name of the group in the directory, or its id
    group: String,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti group import`.
#[derive(Debug, clap::Args)]
pub struct ImportOptions {
    /// Name of the group in the directory
    group: String,
    /// Display name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    name: String,
    /// Role of its members, by name or number; may be given several times
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Directory of the group, by its id, or identity provider, by its issuer; required if several
    /// have such a group
    #[arg(long, value_name = "ID")]
    directory: Option<String>,
}

/// Arguments of `tutti group edit`.
#[derive(Debug, clap::Args)]
pub struct EditOptions {
    /// Name of the group in the directory, or its id
    group: String,
    /// New display name
    #[arg(long, value_name = "NAME", required_unless_present = "directory")]
    name: Option<String>,
    /// New directory of the group, by its id, or identity provider, by its issuer; its members
    /// leave the group until their next login
    #[arg(long, value_name = "ID")]
    directory: Option<String>,
}

/// Arguments of `tutti group delete`.
#[derive(Debug, clap::Args)]
pub struct DeleteOptions {
    /// Name of the group in the directory, or its id
    group: String,
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    match verb {
        Verb::List(shown) => list(&shown, &client).await,
        Verb::Show(options) => show(&options, &client).await,
        Verb::Import(options) => import(options, &client).await,
        Verb::Edit(options) => edit(options, &client).await,
        Verb::Delete(one) => {
            let group = find::group(&client, &one.group).await?;
            client.delete(&v1(["groups", &group.id])).await?;
            say!("Forgot group {}", harmless(&group.login));
            Ok(EXIT_SUCCESS)
        }
    }
}

async fn list(shown: &OutputOptions, client: &Client) -> Result<u8, Failure> {
    let groups = find::groups(client).await?;
    if shown.format == Format::Json {
        json(&groups);
        return Ok(EXIT_SUCCESS);
    }
    if groups.is_empty() {
        say!("No groups yet; `tutti group import` takes one of the directory.");
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let rows = groups.iter().map(|group| {
        vec![
            terminal::name(harmless(&group.login)),
            harmless(&group.display_name),
            roles.shown(&group.role_ids),
            group.user_ids.len().to_string(),
        ]
    });
    table::print(&["GROUP", "NAME", "ROLES", "USERS"], rows.collect());
    Ok(EXIT_SUCCESS)
}

async fn show(options: &ShowOptions, client: &Client) -> Result<u8, Failure> {
    let group = find::group(client, &options.group).await?;
    if options.shown.format == Format::Json {
        json(&group);
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let users = find::users(client).await?.into_iter();
    let users = users.filter(|user| group.user_ids.contains(&user.id));
    let users: Vec<_> = users.map(|user| harmless(&user.login)).collect();
    table::fields(&[
        ("group", terminal::heading(harmless(&group.login))),
        ("id", harmless(&group.id)),
        ("name", harmless(&group.display_name)),
        ("roles", roles.shown(&group.role_ids)),
        ("users", users.join(", ")),
        (
            "directory",
            harmless(group.identity_provider_id.as_deref().unwrap_or("none")),
        ),
    ]);
    Ok(EXIT_SUCCESS)
}

async fn import(options: ImportOptions, client: &Client) -> Result<u8, Failure> {
    let body = GroupImport {
        login: options.group,
        display_name: options.name,
        role_ids: find::role_ids(client, &options.roles).await?,
        identity_provider_id: options.directory,
        validate: None,
    };
    let group: Group = client.post(&v1(["groups"]), &body).await?;
    say!(
        "Imported group {} ({})",
        harmless(&group.login),
        harmless(&group.id)
    );
    Ok(EXIT_SUCCESS)
}

async fn edit(options: EditOptions, client: &Client) -> Result<u8, Failure> {
    let group = find::group(client, &options.group).await?;
    let update = GroupUpdate {
        id: group.id.clone(),
        login: group.login,
        display_name: options.name.unwrap_or(group.display_name),
        role_ids: group.role_ids,
        user_ids: Vec::new(),
        is_group: true,
        is_remote: true,
        is_superuser: false,
        identity_provider_id: options.directory,
    };
    let group: Group = client.put(&v1(["groups", &group.id]), &update).await?;
    say!("Changed group {}", harmless(&group.login));
    Ok(EXIT_SUCCESS)
}
