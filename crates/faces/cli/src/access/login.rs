//! `tutti login` and `tutti access login`. Main type: [`Options`].

use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;

use api_types::kinds::UNAUTHENTICATED;
use api_types::{LoginRequest, TokenReply};
use secrecy::{ExposeSecret as _, SecretString};

use super::oidc::{self, TokenProperties};
use super::pasted_lines::PastedLines;
use crate::client::ApiClient;
use crate::rbac::find::current_user;
use crate::settings::{ClientSettings, ConnectionFlags};
use crate::terminal::{escape_control, style_success};
use crate::{CommandFailure, EXIT_SUCCESS, Result, VerbResult};

/// Token lifetime for one command: a working day, since a plan may wait for an answer.
const ONE_COMMAND: &str = "8h";

/// Arguments of `tutti login` and `tutti access login`.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Login of the user; prompted for when absent
    user: Option<String>,
    /// Lifetime of the token, such as 30m, 4h, 7d
    #[arg(long, short = 'l', value_name = "TIME")]
    lifetime: Option<String>,
    /// Label of the token, by which it can be found and revoked
    #[arg(long)]
    label: Option<String>,
    /// Print the token instead of writing it to the token file
    #[arg(long)]
    print: bool,
    /// Read the password from the first line of this file, such as the `admin-password` that the
    /// server writes
    #[arg(long, value_name = "FILE")]
    password_file: Option<std::path::PathBuf>,
    /// Log in with a browser at the identity provider configured on the server
    #[arg(long, conflicts_with_all = ["user", "password_file"])]
    oidc: bool,
    /// With --oidc: port of this machine to which the browser is redirected; a free one when absent
    #[arg(long, value_name = "PORT", requires = "oidc")]
    port: Option<u16>,
    /// Accepted for compatibility with puppet-access and ignored: it would print the password
    #[arg(long, hide = true)]
    debug: bool,
}

pub(crate) async fn run(options: Options, settings: &ClientSettings) -> VerbResult {
    let client = ApiClient::without_token(settings)?;
    let print = options.print;
    let (reply, login) = if options.oidc {
        (log_in_with_browser(options, &client).await?, None)
    } else {
        let (reply, login) = log_in_with_password(options, &client).await?;
        (reply, Some(login))
    };
    if print {
        say!("{}", reply.token);
        return Ok(EXIT_SUCCESS);
    }
    write_token(&settings.token_file, &reply.token)?;
    let login = match login {
        Some(login) => login,
        // The identity provider decides who the user is, not the `--user` of the command.
        None => {
            let client = client.with_new_token(&reply.token);
            current_user(&client).await?.login
        }
    };
    let (done, login) = (style_success("Logged in"), escape_control(&login));
    let file = settings.token_file.display();
    say!("{done} as {login}; the token is in {file}");
    Ok(EXIT_SUCCESS)
}

async fn log_in_with_browser(options: Options, client: &ApiClient) -> Result<TokenReply> {
    let wanted = TokenProperties {
        lifetime: options.lifetime,
        label: options.label,
    };
    let pasted = PastedLines::from_stdin();
    Box::pin(oidc::token(client, wanted, options.port, pasted)).await
}

async fn log_in_with_password(
    options: Options,
    client: &ApiClient,
) -> Result<(TokenReply, String)> {
    let login = match options.user {
        Some(user) => user,
        None => ask("Login")?,
    };
    let password = match &options.password_file {
        Some(path) => first_line(path)?,
        None => ask_password("Password")?,
    };
    let request = LoginRequest {
        login: login.clone(),
        password: password.expose_secret().to_owned(),
        lifetime: options.lifetime,
        label: options.label,
        description: None,
        client: Some(concat!("tutti/", env!("CARGO_PKG_VERSION")).to_owned()),
    };
    let path = ["rbac-api", "v1", "auth", "token"];
    let reply = client.post(&path, &request).await;
    let reply = reply.map_err(|error| with_login_hint(error, &login))?;
    Ok((reply, login))
}

/// A refusal that names the login and the next step; whether there is such a user is not told.
fn with_login_hint(mut error: CommandFailure, login: &str) -> CommandFailure {
    if let CommandFailure::Refused { kind, msg, .. } = &mut error
        && kind == UNAUTHENTICATED.name
    {
        let login = escape_control(login);
        *msg = format!(
            "the login {login:?} or its password is wrong; try again, or let an administrator reset the password \
             (`tutti user reset {login}`)"
        );
    }
    error
}

/// A client that acts as `user`, whose password is prompted for; its token is not stored.
pub(crate) async fn log_in(user: String, connection: &ConnectionFlags) -> Result<ApiClient> {
    let client = ApiClient::without_token(&connection.settings()?)?;
    let options = Options {
        user: Some(user),
        lifetime: Some(ONE_COMMAND.to_owned()),
        ..Options::default()
    };
    let (reply, _) = log_in_with_password(options, &client).await?;
    Ok(client.with_new_token(&reply.token))
}

fn ask(what: &str) -> Result<String> {
    if !std::io::stdin().is_terminal() {
        return read_line();
    }
    let asked = dialoguer::Input::new().with_prompt(what).interact_text();
    asked.map_err(|error| CommandFailure::Usage(format!("cannot prompt for the login: {error}")))
}

/// Prompts on the terminal, or reads a line of standard input.
pub(crate) fn ask_password(what: &str) -> Result<SecretString> {
    if !std::io::stdin().is_terminal() {
        return Ok(SecretString::from(read_line()?));
    }
    let asked = dialoguer::Password::new().with_prompt(what).interact();
    let asked = asked
        .map_err(|error| CommandFailure::Usage(format!("cannot prompt for the password: {error}")));
    Ok(SecretString::from(asked?))
}

/// Reads a line of standard input.
pub(crate) fn read_line() -> Result<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(CommandFailure::read("standard input"))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Reads the password in the first line of a file.
pub(crate) fn first_line(path: &Path) -> Result<SecretString> {
    let text = SecretString::from(crate::input::read_limited(path)?);
    let line = text.expose_secret().lines().next().unwrap_or_default();
    Ok(SecretString::from(line.to_owned()))
}

/// Writes the token file. Only its owner may read it from the start; an old file is replaced
/// atomically.
fn write_token(path: &Path, token: &str) -> Result<()> {
    use std::io::Write as _;
    let fail = CommandFailure::write(path);
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(directory).map_err(&fail)?;
    // Temporary files have mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(&fail)?;
    file.write_all(token.as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .map_err(&fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_token_file_is_the_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/token");
        write_token(&path, "one").unwrap();
        write_token(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
