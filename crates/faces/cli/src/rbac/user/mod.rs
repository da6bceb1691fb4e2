//! `tutti user …`. Main type: [`UserVerb`].

mod password;
mod read;
mod write;

use crate::CommandFailure;
use crate::client::ApiClient;
use crate::settings::ConnectionFlags;

/// Verbs of `tutti user`.
#[derive(Debug, clap::Subcommand)]
pub enum UserVerb {
    /// List the users
    #[command(after_long_help = "Example:\n  tutti user list")]
    List(read::ListOptions),
    /// Show one user; yourself without a login
    #[command(after_long_help = "Examples:\n  tutti user show\n  tutti user show anna")]
    Show(read::ShowOptions),
    /// Create a user
    #[command(after_long_help = "Examples:
  tutti user create anna --name 'Anna Miller' --role Operators --password-file /root/anna
  tutti user create ben --name Ben && tutti user reset ben")]
    Create(write::CreateOptions),
    /// Change a user's login, display name or email address
    #[command(after_long_help = "Example:\n  tutti user edit anna --email anna@example.com")]
    Edit(write::EditOptions),
    /// Delete a user for ever
    #[command(after_long_help = "Example:\n  tutti user delete anna")]
    Delete(write::UserOptions),
    /// Prevent a user from logging in, and revoke all tokens of that user
    #[command(after_long_help = "Example:\n  tutti user revoke anna")]
    Revoke(write::UserOptions),
    /// Allow a revoked or locked user to log in again
    #[command(after_long_help = "Example:\n  tutti user reinstate anna")]
    Reinstate(write::UserOptions),
    /// Add roles to a user
    #[command(after_long_help = "Example:\n  tutti user add-role anna Operators Viewers")]
    AddRole(write::RolesOptions),
    /// Remove roles from a user
    #[command(after_long_help = "Example:\n  tutti user remove-role anna Viewers")]
    RemoveRole(write::RolesOptions),
    /// Change your own password; all your other tokens are revoked
    #[command(after_long_help = "Examples:
  tutti user password
  printf '%s\\n' \"$OLD\" \"$NEW\" | tutti user password")]
    Password(password::OwnPasswordOptions),
    /// Create a token with which a user can set a password once within a day
    #[command(after_long_help = "Example:\n  tutti user reset anna > reset-token-of-anna")]
    Reset(password::ResetOptions),
    /// Set a password with a reset token; no login is needed
    #[command(after_long_help = "Example:
  tutti user set-password --reset-token-file reset-token-of-anna")]
    SetPassword(password::SetOptions),
}

pub(crate) async fn run(
    verb: UserVerb,
    connection: &ConnectionFlags,
) -> Result<u8, CommandFailure> {
    if let UserVerb::SetPassword(options) = verb {
        return password::set(&options, connection).await;
    }
    let client = ApiClient::with_token(connection)?;
    match verb {
        UserVerb::List(options) => read::list(&options, &client).await,
        UserVerb::Show(options) => read::show(&options, &client).await,
        UserVerb::Create(options) => write::create(options, &client).await,
        UserVerb::Edit(options) => write::edit(options, &client).await,
        UserVerb::Delete(one) => write::delete(&one, &client).await,
        UserVerb::Revoke(one) => write::command(&one, "revoke", "Revoked", &client).await,
        UserVerb::Reinstate(one) => write::command(&one, "reinstate", "Reinstated", &client).await,
        UserVerb::AddRole(roles) => write::roles(&roles, "add-roles", &client).await,
        UserVerb::RemoveRole(roles) => write::roles(&roles, "remove-roles", &client).await,
        UserVerb::Password(options) => password::change_own(&options, &client).await,
        UserVerb::Reset(options) => password::reset(&options, &client).await,
        // Handled above, since it needs no token.
        UserVerb::SetPassword(options) => password::set(&options, connection).await,
    }
}
