//! `tutti group …`: groups of users, from a directory. Main type: [`GroupVerb`].

use api_types::rbac::{Group, GroupImport, GroupUpdate};

use super::find::{self, RoleNames, route_v1};
use crate::client::ApiClient;
use crate::present::{Fields, OutputOptions};
use crate::terminal::{escape_control, escaped_heading, escaped_name};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// Verbs of `tutti group`.
#[derive(Debug, clap::Subcommand)]
pub enum GroupVerb {
    /// List the groups
    #[command(after_long_help = "Example:\n  tutti group list")]
    List(OutputOptions),
    /// Show one group, its roles and its members
    #[command(after_long_help = "Example:\n  tutti group show linux-admins")]
    Show {
        /// Name of the group in the directory, or its id
        group: String,
        #[command(flatten)]
        shown: OutputOptions,
    },
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
    Delete {
        /// Name of the group in the directory, or its id
        group: String,
    },
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

pub(crate) async fn run(verb: GroupVerb, client: &ApiClient) -> VerbResult {
    match verb {
        GroupVerb::List(shown) => list(shown.format, client).await,
        GroupVerb::Show { group, shown } => show(&group, shown.format, client).await,
        GroupVerb::Import(options) => import(options, client).await,
        GroupVerb::Edit(options) => edit(options, client).await,
        GroupVerb::Delete { group } => {
            let group = find::group(client, &group).await?;
            client.delete(&route_v1(["groups", &group.id])).await?;
            say!("Forgot group {}", escape_control(&group.login));
            Ok(EXIT_SUCCESS)
        }
    }
}

async fn list(format: OutputFormat, client: &ApiClient) -> VerbResult {
    let groups = find::groups(client).await?;
    let roles = match groups.is_empty() || format == OutputFormat::Json {
        true => RoleNames::default(),
        false => RoleNames::read(client).await?,
    };
    format.list(
        &groups,
        &groups,
        "No groups yet; `tutti group import` takes one of the directory.",
        &[
            ("GROUP", &|group| escaped_name(&group.login)),
            ("NAME", &|group| escape_control(&group.display_name)),
            ("ROLES", &|group| roles.join_names(&group.role_ids)),
            ("USERS", &|group| group.user_ids.len().to_string()),
        ],
    )
}

async fn show(called: &str, format: OutputFormat, client: &ApiClient) -> VerbResult {
    let group = find::group(client, called).await?;
    if format.print_json(&group) {
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let users = find::users(client).await?.into_iter();
    let users = users.filter(|user| group.user_ids.contains(&user.id));
    let users: Vec<_> = users.map(|user| escape_control(&user.login)).collect();
    let directory = group.identity_provider_id.as_deref().unwrap_or("none");
    Fields::default()
        .value("group", escaped_heading(&group.login))
        .text("id", &group.id)
        .text("name", &group.display_name)
        .value("roles", roles.join_names(&group.role_ids))
        .value("users", users.join(", "))
        .text("directory", directory)
        .print();
    Ok(EXIT_SUCCESS)
}

async fn import(options: ImportOptions, client: &ApiClient) -> VerbResult {
    let body = GroupImport {
        login: options.group,
        display_name: options.name,
        role_ids: find::role_ids(client, &options.roles).await?,
        identity_provider_id: options.directory,
        validate: None,
    };
    let group: Group = client.post(&route_v1(["groups"]), &body).await?;
    say!(
        "Imported group {} ({})",
        escape_control(&group.login),
        escape_control(&group.id)
    );
    Ok(EXIT_SUCCESS)
}

async fn edit(options: EditOptions, client: &ApiClient) -> VerbResult {
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
    let group: Group = client
        .put(&route_v1(["groups", &group.id]), &update)
        .await?;
    say!("Changed group {}", escape_control(&group.login));
    Ok(EXIT_SUCCESS)
}
