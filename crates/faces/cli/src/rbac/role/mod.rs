//! `tutti role …`. Main type: [`Verb`].

mod permission;
mod read;
mod write;

use crate::Failure;
use crate::client::Client;
use crate::settings::Connection;

/// What can be done with roles.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// List the roles
    #[command(after_long_help = "Example:\n  tutti role list")]
    List(read::List),
    /// Show one role: what it permits, and who has it
    #[command(after_long_help = "Example:\n  tutti role show Operators")]
    Show(read::Show),
    /// List every permission that there is
    #[command(after_long_help = "Example:\n  tutti role permissions")]
    Permissions(read::List),
    /// Make a role
    #[command(after_long_help = "Example:
  tutti role create 'Package updates' --permission tasks:run:package \\
    --permission orchestrator:view")]
    Create(write::Create),
    /// Change a role's name or description
    #[command(after_long_help = "Example:
  tutti role edit 'Package updates' --description 'Runs the task package everywhere'")]
    Edit(write::Edit),
    /// Delete a role
    #[command(after_long_help = "Example:\n  tutti role delete 'Package updates'")]
    Delete(write::One),
    /// Let a role permit more
    #[command(after_long_help = "Example:
  tutti role add-permission 'Package updates' tasks:run:service")]
    AddPermission(write::Permissions),
    /// Let a role permit less
    #[command(after_long_help = "Example:
  tutti role remove-permission 'Package updates' tasks:run:service")]
    RemovePermission(write::Permissions),
    /// Give users a role
    #[command(after_long_help = "Example:\n  tutti role add-user Operators anna ben")]
    AddUser(write::Members),
    /// Take a role from users
    #[command(after_long_help = "Example:\n  tutti role remove-user Operators ben")]
    RemoveUser(write::Members),
    /// Give groups of users a role
    #[command(after_long_help = "Example:\n  tutti role add-group Operators linux-admins")]
    AddGroup(write::Members),
    /// Take a role from groups of users
    #[command(after_long_help = "Example:\n  tutti role remove-group Operators linux-admins")]
    RemoveGroup(write::Members),
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    match verb {
        Verb::List(options) => read::list(&options, &client).await,
        Verb::Show(options) => read::show(&options, &client).await,
        Verb::Permissions(options) => read::permissions(&options, &client).await,
        Verb::Create(options) => write::create(options, &client).await,
        Verb::Edit(options) => write::edit(options, &client).await,
        Verb::Delete(one) => write::delete(&one, &client).await,
        Verb::AddPermission(given) => write::permit(given, "add-permissions", &client).await,
        Verb::RemovePermission(given) => write::permit(given, "remove-permissions", &client).await,
        Verb::AddUser(members) => write::users(&members, "add-users", &client).await,
        Verb::RemoveUser(members) => write::users(&members, "remove-users", &client).await,
        Verb::AddGroup(members) => write::groups(&members, "add-groups", &client).await,
        Verb::RemoveGroup(members) => write::groups(&members, "remove-groups", &client).await,
    }
}
