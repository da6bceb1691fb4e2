//! `tutti role list`, `show` and `permissions`.

use std::collections::HashMap;

use api_types::rbac::ObjectType;

use super::permission;
use crate::client::ApiClient;
use crate::present::Fields;
use crate::rbac::find::{self, route_v1};
use crate::terminal::{escape_control, escaped_heading, escaped_name};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult, present};

pub(super) async fn list(format: OutputFormat, client: &ApiClient) -> VerbResult {
    let mut roles = find::roles(client).await?;
    roles.sort_by_key(|role| role.id);
    format.present(&roles, |roles| {
        present::table(
            roles,
            &[
                ("NUMBER", &|role| role.id.to_string()),
                ("NAME", &|role| escaped_name(&role.display_name)),
                ("USERS", &|role| role.user_ids.len().to_string()),
                ("GROUPS", &|role| role.group_ids.len().to_string()),
                ("PERMISSIONS", &|role| role.permissions.len().to_string()),
                ("DESCRIPTION", &|role| escape_control(&role.description)),
            ],
        );
    })
}

pub(super) async fn show(called: &str, format: OutputFormat, client: &ApiClient) -> VerbResult {
    let role = find::role(client, called).await?;
    if format.print_json(&role) {
        return Ok(EXIT_SUCCESS);
    }
    let logins = find::users(client).await?.into_iter();
    let users = names(&role.user_ids, logins.map(|user| (user.id, user.login)));
    let groups = match role.group_ids.is_empty() {
        true => String::new(),
        false => {
            let groups = find::groups(client).await?.into_iter();
            names(&role.group_ids, groups.map(|group| (group.id, group.login)))
        }
    };
    Fields::default()
        .value("role", escaped_heading(&role.display_name))
        .value("number", role.id)
        .text("description", &role.description)
        .value("users", users)
        .value("groups", groups)
        .print();
    say!("");
    for permission in &role.permissions {
        say!("{}", permission::format(permission));
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn permissions(format: OutputFormat, client: &ApiClient) -> VerbResult {
    let types: Vec<ObjectType> = client.get(&route_v1(["types"]), &[]).await?;
    let actions = |of: &ObjectType| {
        let actions = of.actions.iter().map(|action| {
            let instance = if action.has_instances {
                ":INSTANCE"
            } else {
                ""
            };
            let name = format!("{}:{}{instance}", of.object_type, action.name);
            (name, action.description.clone())
        });
        actions.collect::<Vec<_>>()
    };
    format.present(&types, |types| {
        present::table(
            &types.iter().flat_map(actions).collect::<Vec<_>>(),
            &[
                ("PERMISSION", &|(name, _)| escaped_name(name)),
                ("DESCRIPTION", &|(_, description)| {
                    escape_control(description)
                }),
            ],
        );
    })
}

/// The names for these ids; the id itself if there is no name.
fn names(ids: &[String], known: impl Iterator<Item = (String, String)>) -> String {
    let known: HashMap<_, _> = known.collect();
    let names = ids
        .iter()
        .map(|id| escape_control(known.get(id).unwrap_or(id)));
    names.collect::<Vec<_>>().join(", ")
}
