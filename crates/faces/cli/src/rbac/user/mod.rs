//! `tutti user …`. Main type: [`UserVerb`].

mod password;
mod read;
mod write;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::settings::ConnectionFlags;

/// Verbs of `tutti user`.
#[derive(Debug, clap::Subcommand)]
pub enum UserVerb {
    /// List the users
    #[command(after_long_help = "Example:\n  tutti user list")]
    List(OutputOptions),
    /// Show one user; yourself without a login
    #[command(after_long_help = "Examples:\n  tutti user show\n  tutti user show anna")]
    Show {
        /// Login or id of the user; yourself when absent
        user: Option<String>,
        #[command(flatten)]
        shown: OutputOptions,
    },
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
    Reset {
        /// Login or id of the user
        user: String,
    },
    /// Set a password with a reset token; no login is needed
    #[command(after_long_help = "Example:
  tutti user set-password --reset-token-file reset-token-of-anna")]
    SetPassword(password::SetOptions),
}

pub(crate) async fn run(verb: UserVerb, connection: &ConnectionFlags) -> VerbResult {
    let client = || ApiClient::with_token(connection);
    match verb {
        UserVerb::List(shown) => read::list(shown.format, &client()?).await,
        UserVerb::Show { user, shown } => {
            read::show(user.as_deref(), shown.format, &client()?).await
        }
        UserVerb::Create(options) => write::create(options, &client()?).await,
        UserVerb::Edit(options) => write::edit(options, &client()?).await,
        UserVerb::Delete(one) => write::delete(&one, &client()?).await,
        UserVerb::Revoke(one) => write::command(&one, "revoke", "Revoked", &client()?).await,
        UserVerb::Reinstate(one) => {
            write::command(&one, "reinstate", "Reinstated", &client()?).await
        }
        UserVerb::AddRole(roles) => write::roles(&roles, "add-roles", &client()?).await,
        UserVerb::RemoveRole(roles) => write::roles(&roles, "remove-roles", &client()?).await,
        UserVerb::Password(options) => password::change_own(&options, &client()?).await,
        UserVerb::Reset { user } => password::reset(&user, &client()?).await,
        UserVerb::SetPassword(options) => password::set(&options, connection).await,
    }
}
