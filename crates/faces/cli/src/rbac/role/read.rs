//! `tutti role list`, `show` and `permissions`.

use std::collections::HashMap;

use api_types::rbac::ObjectType;

use super::permission;
use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::rbac::find::{self, route_v1};
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table};

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

pub(super) async fn list(options: &ListOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let mut roles = find::roles(client).await?;
    roles.sort_by_key(|role| role.id);
    if options.shown.format == OutputFormat::Json {
        json(&roles);
        return Ok(EXIT_SUCCESS);
    }
    let rows = roles.iter().map(|role| {
        vec![
            role.id.to_string(),
            terminal::style_name(escape_control(&role.display_name)),
            role.user_ids.len().to_string(),
            role.group_ids.len().to_string(),
            role.permissions.len().to_string(),
            escape_control(&role.description),
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

pub(super) async fn show(options: &ShowOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let role = find::role(client, &options.role).await?;
    if options.shown.format == OutputFormat::Json {
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
        (
            "role",
            terminal::style_heading(escape_control(&role.display_name)),
        ),
        ("number", role.id.to_string()),
        ("description", escape_control(&role.description)),
        ("users", users),
        ("groups", groups),
    ]);
    say!("");
    for permission in &role.permissions {
        say!("{}", permission::format(permission));
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn permissions(
    options: &ListOptions,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let types: Vec<ObjectType> = client.get(&route_v1(["types"]), &[]).await?;
    if options.shown.format == OutputFormat::Json {
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
                terminal::style_name(escape_control(&name)),
                escape_control(&action.description),
            ]
        })
    });
    table::print(&["PERMISSION", "DESCRIPTION"], rows.collect());
    Ok(EXIT_SUCCESS)
}

/// The names for these ids; the id itself if there is no name.
fn names(ids: &[String], known: &HashMap<String, String>) -> String {
    let names = ids
        .iter()
        .map(|id| escape_control(known.get(id).unwrap_or(id)));
    names.collect::<Vec<_>>().join(", ")
}
