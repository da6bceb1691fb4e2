//! `tutti role list`, `show` and `permissions`.

use std::collections::HashMap;

use api_types::rbac::ObjectType;

use super::permission;
use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::rbac::find::{self, v1};
use crate::terminal::{self, harmless};
use crate::{EXIT_SUCCESS, Failure, Format, table};

/// Arguments of `tutti role list` and `permissions`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti role show`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Name or number of the role
    role: String,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn list(options: &ListOptions, client: &Client) -> Result<u8, Failure> {
    let mut roles = find::roles(client).await?;
    roles.sort_by_key(|role| role.id);
    if options.shown.format == Format::Json {
        json(&roles);
        return Ok(EXIT_SUCCESS);
    }
    let rows = roles.iter().map(|role| {
        vec![
            role.id.to_string(),
            terminal::name(harmless(&role.display_name)),
            role.user_ids.len().to_string(),
            role.group_ids.len().to_string(),
            role.permissions.len().to_string(),
            harmless(&role.description),
        ]
    });
    let heading = [
        "NUMBER",
        "NAME",
        "USERS",
        "GROUPS",
        "PERMISSIONS",
        "DESCRIPTION",
    ];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

pub(super) async fn show(options: &ShowOptions, client: &Client) -> Result<u8, Failure> {
    let role = find::role(client, &options.role).await?;
    if options.shown.format == Format::Json {
        json(&role);
        return Ok(EXIT_SUCCESS);
    }
    let logins = find::users(client)
        .await?
        .into_iter()
        .map(|user| (user.id, user.login));
    let users = names(&role.user_ids, &logins.collect());
    let groups = match role.group_ids.is_empty() {
        true => String::new(),
        false => {
            let groups = find::groups(client).await?.into_iter();
            names(
                &role.group_ids,
                &groups.map(|group| (group.id, group.login)).collect(),
            )
        }
    };
    table::fields(&[
        ("role", terminal::heading(harmless(&role.display_name))),
        ("number", role.id.to_string()),
        ("description", harmless(&role.description)),
        ("users", users),
        ("groups", groups),
    ]);
    say!("");
    for permission in &role.permissions {
        say!("{}", permission::format(permission));
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn permissions(options: &ListOptions, client: &Client) -> Result<u8, Failure> {
    let types: Vec<ObjectType> = client.get(&v1(["types"]), &[]).await?;
    if options.shown.format == Format::Json {
        json(&types);
        return Ok(EXIT_SUCCESS);
    }
    let rows = types.iter().flat_map(|of| {
        of.actions.iter().map(|action| {
            let instance = if action.has_instances {
                ":INSTANCE"
            } else {
                ""
            };
            let name = format!("{}:{}{instance}", of.object_type, action.name);
            vec![
                terminal::name(harmless(&name)),
                harmless(&action.description),
            ]
        })
    });
    table::print(&["PERMISSION", "DESCRIPTION"], rows.collect());
    Ok(EXIT_SUCCESS)
}

/// The names for these ids; the id itself if there is no name.
fn names(ids: &[String], known: &HashMap<String, String>) -> String {
    let names = ids.iter().map(|id| harmless(known.get(id).unwrap_or(id)));
    names.collect::<Vec<_>>().join(", ")
}
