//! `tutti user password`, `reset` and `set-password`.
//!
//! Invariant: a password or reset token is prompted for or read from a file or standard input; it
//! is never an argument, which all users of the machine could read.

use std::path::PathBuf;

use api_types::rbac::{OwnPassword, PasswordReset, ResetToken};
use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};

use crate::access::login::{ask_password, first_line};
use crate::client::ApiClient;
use crate::rbac::find::{self, route_v1};
use crate::settings::ConnectionFlags;
use crate::{EXIT_SUCCESS, Result, VerbResult};

/// Arguments of `tutti user password`.
#[derive(Debug, clap::Args)]
pub struct OwnPasswordOptions {
    /// File whose first line is the current password
    #[arg(long, value_name = "FILE")]
    current_password_file: Option<PathBuf>,
    /// File whose first line is the new password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Arguments of `tutti user set-password`.
#[derive(Debug, clap::Args)]
pub struct SetOptions {
    /// File whose first line is the reset token
    #[arg(long, value_name = "FILE")]
    reset_token_file: Option<PathBuf>,
    /// File whose first line is the new password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

pub(super) async fn change_own(options: &OwnPasswordOptions, client: &ApiClient) -> VerbResult {
    let current = read_secret(options.current_password_file.as_ref(), "Present password")?;
    let password = read_secret(options.password_file.as_ref(), "New password")?;
    let body = OwnPassword {
        current_password: current.expose_secret().to_owned(),
        password: password.expose_secret().to_owned(),
    };
    let path = route_v1(["users", "current", "password"]);
    client
        .send_without_content(Method::PUT, &path, &body)
        .await?;
    say!("Your password is changed; your other tokens are revoked.");
    Ok(EXIT_SUCCESS)
}

pub(super) async fn reset(called: &str, client: &ApiClient) -> VerbResult {
    let user = find::user(client, called).await?;
    let path = route_v1(["users", &user.id, "password", "reset"]);
    let ResetToken(token) = client.send_for_reply(Method::POST, &path).await?;
    say!("{token}");
    Ok(EXIT_SUCCESS)
}

pub(super) async fn set(options: &SetOptions, connection: &ConnectionFlags) -> VerbResult {
    let client = ApiClient::without_token(&connection.settings()?)?;
    let token = read_secret(options.reset_token_file.as_ref(), "Reset token")?;
    let password = read_secret(options.password_file.as_ref(), "New password")?;
    let body = PasswordReset {
        token: token.expose_secret().trim().to_owned(),
        password: password.expose_secret().to_owned(),
    };
    client.command(&route_v1(["auth", "reset"]), &body).await?;
    say!("The password is set; log in with `tutti login`.");
    Ok(EXIT_SUCCESS)
}

/// Reads a secret from a file, from the terminal, or from a line of standard input.
fn read_secret(file: Option<&PathBuf>, what: &str) -> Result<SecretString> {
    match file {
        Some(path) => first_line(path),
        None => ask_password(what),
    }
}
