//! `tutti user …`. Main type: [`Verb`].

mod password;
mod read;
mod write;

use crate::Failure;
use crate::client::Client;
use crate::settings::Connection;

/// What can be done with users.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// List the users
    #[command(after_long_help = "Example:\n  tutti user list")]
    List(read::List),
    /// Show one user; without a name, yourself
    #[command(after_long_help = "Examples:\n  tutti user show\n  tutti user show anna")]
    Show(read::Show),
    /// Make a user
    #[command(after_long_help = "Examples:
  tutti user create anna --name 'Anna Miller' --role Operators --password-file /root/anna
  tutti user create ben --name Ben && tutti user reset ben")]
    Create(write::Create),
    /// Change a user's login, name or address
    #[command(after_long_help = "Example:\n  tutti user edit anna --email anna@example.com")]
    Edit(write::Edit),
    /// Delete a user for ever
    #[command(after_long_help = "Example:\n  tutti user delete anna")]
    Delete(write::One),
    /// Let a user log in no more, and end all tokens that he has
    #[command(after_long_help = "Example:\n  tutti user revoke anna")]
    Revoke(write::One),
    /// Let a user who was revoked or locked log in again
    #[command(after_long_help = "Example:\n  tutti user reinstate anna")]
    Reinstate(write::One),
    /// Give a user roles
    #[command(after_long_help = "Example:\n  tutti user add-role anna Operators Viewers")]
    AddRole(write::Roles),
    /// Take roles from a user
    #[command(after_long_help = "Example:\n  tutti user remove-role anna Viewers")]
    RemoveRole(write::Roles),
    /// Set your own password; all your other tokens end
    #[command(after_long_help = "Examples:
  tutti user password
  printf '%s\\n' \"$OLD\" \"$NEW\" | tutti user password")]
    Password(password::Own),
    /// Make a token with which a user sets a password, once and within a day
    #[command(after_long_help = "Example:\n  tutti user reset anna > reset-token-of-anna")]
    Reset(password::Reset),
    /// Set a password by a reset token; no login is needed
    #[command(after_long_help = "Example:
  tutti user set-password --reset-token-file reset-token-of-anna")]
    SetPassword(password::Set),
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    if let Verb::SetPassword(options) = verb {
        return password::set(&options, connection).await;
    }
    let client = Client::with_token(connection)?;
    match verb {
        Verb::List(options) => read::list(&options, &client).await,
        Verb::Show(options) => read::show(&options, &client).await,
        Verb::Create(options) => write::create(options, &client).await,
        Verb::Edit(options) => write::edit(options, &client).await,
        Verb::Delete(one) => write::delete(&one, &client).await,
        Verb::Revoke(one) => write::command(&one, "revoke", "Revoked", &client).await,
        Verb::Reinstate(one) => write::command(&one, "reinstate", "Reinstated", &client).await,
        Verb::AddRole(roles) => write::roles(&roles, "add-roles", &client).await,
        Verb::RemoveRole(roles) => write::roles(&roles, "remove-roles", &client).await,
        Verb::Password(options) => password::own(&options, &client).await,
        Verb::Reset(options) => password::reset(&options, &client).await,
        // It was done above, for it needs no token.
        Verb::SetPassword(options) => password::set(&options, connection).await,
    }
}
