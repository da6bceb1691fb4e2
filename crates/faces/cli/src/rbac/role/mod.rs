//! `tutti role …`. Main type: [`RoleVerb`].

mod permission;
mod read;
mod write;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;

/// Verbs of `tutti role`.
#[derive(Debug, clap::Subcommand)]
pub enum RoleVerb {
    /// List the roles
    #[command(after_long_help = "Example:\n  tutti role list")]
    List(OutputOptions),
    /// Show one role: its permissions and its members
    #[command(after_long_help = "Example:\n  tutti role show Operators")]
    Show {
        /// Name or number of the role
        role: String,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// List all available permissions
    #[command(after_long_help = "Example:\n  tutti role permissions")]
    Permissions(OutputOptions),
    /// Create a role
    #[command(after_long_help = "Example:
  tutti role create 'Package updates' --permission tasks:run:package \\
    --permission orchestrator:view")]
    Create(write::CreateOptions),
    /// Change a role's name or description
    #[command(after_long_help = "Example:
  tutti role edit 'Package updates' --description 'Runs the task package everywhere'")]
    Edit(write::EditOptions),
    /// Delete a role
    #[command(after_long_help = "Example:\n  tutti role delete 'Package updates'")]
    Delete {
        /// Name or number of the role
        role: String,
    },
    /// Add permissions to a role
    #[command(after_long_help = "Example:
  tutti role add-permission 'Package updates' tasks:run:service")]
    AddPermission(write::PermissionsOptions),
    /// Remove permissions from a role
    #[command(after_long_help = "Example:
  tutti role remove-permission 'Package updates' tasks:run:service")]
    RemovePermission(write::PermissionsOptions),
    /// Add users to a role
    #[command(after_long_help = "Example:\n  tutti role add-user Operators anna ben")]
    AddUser(write::MembersOptions),
    /// Remove users from a role
    #[command(after_long_help = "Example:\n  tutti role remove-user Operators ben")]
    RemoveUser(write::MembersOptions),
    /// Add groups of users to a role
    #[command(after_long_help = "Example:\n  tutti role add-group Operators linux-admins")]
    AddGroup(write::MembersOptions),
    /// Remove groups of users from a role
    #[command(after_long_help = "Example:\n  tutti role remove-group Operators linux-admins")]
    RemoveGroup(write::MembersOptions),
}

pub(crate) async fn run(verb: RoleVerb, client: &ApiClient) -> VerbResult {
    match verb {
        RoleVerb::List(shown) => read::list(shown.format, client).await,
        RoleVerb::Show { role, shown } => read::show(&role, shown.format, client).await,
        RoleVerb::Permissions(shown) => read::permissions(shown.format, client).await,
        RoleVerb::Create(options) => write::create(options, client).await,
        RoleVerb::Edit(options) => write::edit(options, client).await,
        RoleVerb::Delete { role } => write::delete(&role, client).await,
        RoleVerb::AddPermission(given) => {
            write::change_permissions(given, "add-permissions", client).await
        }
        RoleVerb::RemovePermission(given) => {
            write::change_permissions(given, "remove-permissions", client).await
        }
        RoleVerb::AddUser(members) => write::users(&members, "add-users", client).await,
        RoleVerb::RemoveUser(members) => write::users(&members, "remove-users", client).await,
        RoleVerb::AddGroup(members) => write::groups(&members, "add-groups", client).await,
        RoleVerb::RemoveGroup(members) => write::groups(&members, "remove-groups", client).await,
    }
}
