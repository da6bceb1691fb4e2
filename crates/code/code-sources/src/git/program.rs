//! Execution of `git`. Main type: [`GitProgram`].
//!
//! Invariant: git never prompts, ends in a bounded time, and its environment is defined by Tutti
//! except for the variables that locate the user's credentials.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::process::Command;

use super::credential_servers::CredentialServers;
use super::github_app::{AppError, GithubApps};
use super::repository_access::{GitAccess, GitLogin, without_http_credentials};
use crate::remote_address::strip_credentials;
use program_runner::{ProgramError, to_one_line};

/// Settings for the execution of `git`. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct GitProgram {
    /// Credentials and settings for all repositories.
    pub access: GitAccess,
    /// Settings for single repositories, by their addresses; missing values are taken from
    /// `access`.
    pub repositories: Arc<HashMap<String, GitAccess>>,
    /// The servers that a general token is sent to.
    pub servers: CredentialServers,
    /// The cached tokens of GitHub Apps.
    pub apps: GithubApps,
}

impl GitProgram {
    /// Files with the private keys and tokens of all repositories.
    pub fn secret_files(&self) -> Vec<PathBuf> {
        let all = self.repositories.values().chain([&self.access]);
        let files = all.flat_map(|it| [&it.private_key, &it.oauth_token, &it.github_app_key]);
        files.flatten().cloned().collect()
    }
}

/// One call of git.
#[derive(Debug)]
pub(crate) struct GitInvocation<'a> {
    /// A local repository; `None`: none.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) verb: &'static str,
    pub(crate) arguments: &'a [&'a str],
    /// The address of the repository.
    pub(crate) remote: &'a str,
    pub(crate) limit: Duration,
    /// Most bytes that it may print.
    pub(crate) most_bytes: usize,
    pub(crate) stdin: Stdio,
}

/// The error of a call of `git`.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be started.
    #[error("cannot run git; install it, or put it into PATH")]
    Start(#[source] std::io::Error),
    /// Git failed.
    #[error("git {verb} of {remote} failed ({status}): {message}")]
    Failed {
        /// The git subcommand.
        verb: &'static str,
        /// The repository, without credentials.
        remote: String,
        /// The exit status.
        status: ExitStatus,
        /// Git's error message.
        message: String,
    },
    /// Git exceeded its time limit.
    #[error("git {verb} of {remote} took more than {} s and was ended", after.as_secs())]
    TimedOut {
        /// The git subcommand.
        verb: &'static str,
        /// The repository, without credentials.
        remote: String,
        /// The time limit.
        after: Duration,
    },
    /// Git printed more than the limit.
    #[error("git {verb} of {remote} printed more than {most_bytes} bytes and was ended")]
    TooMuch {
        /// The git subcommand.
        verb: &'static str,
        /// The repository, without credentials.
        remote: String,
        /// The limit in bytes.
        most_bytes: usize,
    },
    /// More branches and tags than [`REFS`](crate::defaults::REFS).
    #[error("{remote} has more than {} branches and tags", crate::defaults::REFS)]
    Refs {
        /// The repository, without credentials.
        remote: String,
    },
    /// An invalid address.
    #[error("{0:?} is no address of a repository")]
    Address(String),
    /// The file with the token cannot be read.
    #[error("cannot use the token in {}: {source}", path.display())]
    Token {
        /// Path of the token file.
        path: PathBuf,
        /// The error of the read.
        source: std::io::Error,
    },
    /// A GitHub App gets no token.
    #[error("the GitHub App {id} gets no token for {remote}: {error}")]
    App {
        /// ID of the GitHub App.
        id: String,
        /// The repository, without credentials.
        remote: String,
        /// The error of the App.
        error: AppError,
    },
    /// Git's output is invalid.
    #[error("git {verb} of {remote} printed something unexpected")]
    Unexpected {
        /// The git subcommand.
        verb: &'static str,
        /// The repository, without credentials.
        remote: String,
    },
    /// The directory of the copies cannot be used.
    #[error("cannot use {}", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// The error of the operation.
        source: std::io::Error,
    },
}

/// The protocols that git may use: not `ext`, which runs programs.
const PROTOCOLS: &str = "file:git:http:https:ssh";

/// Variables of Tutti's own environment that git receives: those that locate programs and
/// credentials.
const INHERITED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "SSH_AUTH_SOCK",
    "XDG_CONFIG_HOME",
    "TMPDIR",
];

/// Configuration of every git command, which overrides the user's and the copy's own files.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    // Git's default leaves the writing of loose objects and references to the kernel: after a power
    // cut they have names but no content, and git treats such an object as present.
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    // One pack is synced with three calls, a hundred loose objects with a hundred; and git before
    // 2.36, which does not know `core.fsync`, syncs packs too.
    "fetch.unpackLimit=1",
];

// === impl GitProgram ===

impl GitProgram {
    /// True if the settings name the repository, or its server: others get no general token.
    pub fn has_credentials_for(&self, remote: &str) -> bool {
        self.repositories.contains_key(remote) || self.servers.contains(remote)
    }

    /// True if the settings name a GitHub App for a repository at the same server.
    pub(super) fn has_app_for(&self, remote: &str) -> bool {
        let origin = |remote: &str| remote.parse().ok().map(|url: Url| url.origin());
        let mut named = self.repositories.iter();
        named.any(|(of, own)| own.github_app_id.is_some() && origin(of) == origin(remote))
    }

    /// A git command in a local repository.
    pub(crate) fn command(&self, directory: Option<&Path>) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        for name in INHERITED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "true")
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C");
        if let Some(directory) = directory {
            command.env("GIT_DIR", directory);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Runs a call and returns its output.
    pub(crate) async fn run(&self, call: GitInvocation<'_>) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(call.directory);
        let own = self.repositories.get(call.remote);
        let access = own.map(|own| own.or_else_general(&self.access));
        let access = access.as_ref().unwrap_or(&self.access);
        let login = access.resolve_login(call.remote, self);
        let login = Box::pin(login).await?;
        access.apply(&mut command, call.remote, &login);
        let words = call
            .arguments
            .iter()
            .map(|word| match *word == call.remote {
                true => without_http_credentials(word),
                false => (*word).to_owned(),
            });
        command.arg(call.verb).args(words).stdin(call.stdin);
        let (verb, remote) = (call.verb, strip_credentials(call.remote));
        // The future is large, and part of every task that accesses a repository.
        let ran = Box::pin(program_runner::run(command, call.limit, call.most_bytes)).await;
        let ran = ran.map_err(|error| match error {
            ProgramError::Start(source) => GitError::Start(source),
            ProgramError::TimedOut(after) => GitError::TimedOut {
                verb,
                remote: remote.clone(),
                after,
            },
            ProgramError::TooMuch(most_bytes) => GitError::TooMuch {
                verb,
                remote: remote.clone(),
                most_bytes,
            },
        })?;
        if ran.status.success() {
            return Ok(ran.stdout);
        }
        let mut message = to_error_message(&ran.stderr, call.remote);
        if let GitLogin::Absent { note } = login {
            message = format!("{message}; {note}");
        }
        Err(GitError::Failed {
            verb,
            remote,
            status: ran.status,
            message,
        })
    }
}

/// Checks that an address may be passed to `git`.
pub(crate) fn check_remote(remote: &str) -> Result<&str, GitError> {
    let is_wrong = remote.is_empty()
        || remote.starts_with('-')
        || remote.contains("::")
        || remote.chars().any(char::is_control);
    match is_wrong {
        true => Err(GitError::Address(strip_credentials(remote))),
        false => Ok(remote),
    }
}

/// Git's error message, in one line, without the address' credentials.
pub fn to_error_message(stderr: &[u8], remote: &str) -> String {
    // The credentials are removed before the text is shortened: a truncated address would not be
    // found.
    to_one_line(
        String::from_utf8_lossy(stderr)
            .replace(remote, &strip_credentials(remote))
            .as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        let said = to_error_message(
            b"fatal: unable to access 'https://me:pw@e/x': no\n\n",
            "https://me:pw@e/x",
        );
        assert_eq!(said, "fatal: unable to access 'https://e/x': no");
    }

    #[test]
    fn addresses_that_run_programs_are_refused() {
        for bad in [
            "",
            "-x",
            "--upload-pack=x",
            "ext::sh -c x",
            "a\nb",
            "fd::17",
        ] {
            assert!(check_remote(bad).is_err(), "{bad:?}");
        }
        for good in [
            "https://e/x",
            "git@e:x",
            "/srv/x",
            "file:///srv/x",
            "ssh://e:22/x",
        ] {
            assert!(check_remote(good).is_ok());
        }
    }
}
