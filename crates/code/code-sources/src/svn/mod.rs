//! Subversion, through the `svn` program, which has the user's credentials, certificates and SSH.
//! Main type: [`SvnProgram`].
//!
//! There is no copy of a repository: a revision of a directory is exported, stored and kept in the
//! code store. Invariants:
//!
//! - nothing of a repository is ever executed, and `svn:externals` are not followed;
//! - a password is in no command line and in no message.

mod address;
mod tree;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::process::Command;

pub use address::{SvnRevision, check_url, escape_path_segment, parse_revision};
pub(crate) use tree::store_export;

use crate::defaults::{
    FETCH_TIMEOUT, LIST_TIMEOUT, REFS_BYTES, SVN_LOOK, SVN_PASSWORD_BYTES, WORD_BYTES,
};
use crate::git::to_error_message;
use crate::remote_address::strip_credentials;
use code_store::content::{ContentError, IntakeError, TreePathError};
use code_store::defaults::{TREE_BYTES, TREE_FILES};
use code_store::directory_lock::DirectoryLock;
use program_runner::ProgramError;

/// Settings for the execution of `svn`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SvnProgram {
    hold: DirectoryLock,
}

/// Credentials for a repository.
#[derive(Clone, Debug)]
pub struct SvnLogin {
    /// User name for the repository.
    pub username: String,
    /// Password; `None`: as in the user's own settings of Subversion.
    pub password: Option<SecretString>,
}

/// A directory of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SvnAddress {
    /// URL of the directory.
    pub url: String,
    /// Credentials; `None`: as in the user's own settings of Subversion.
    pub login: Option<SvnLogin>,
}

/// The error of a call of `svn`.
#[derive(Debug, thiserror::Error)]
pub enum SvnError {
    /// The program could not be started.
    #[error("cannot run svn; install it (Debian: subversion), or put it into PATH")]
    Start(#[source] io::Error),
    /// The program failed, exceeded its time limit, or printed more than the limit.
    #[error("svn {verb} of {url}: {why}")]
    Failed {
        /// The subcommand of `svn`.
        verb: &'static str,
        /// The directory, without credentials.
        url: String,
        /// Description of the error.
        why: String,
    },
    /// An invalid address.
    #[error("{0:?} is no address of Subversion: file, http, https, svn or svn+ssh")]
    Address(String),
    /// A password without a user name.
    #[error("a password is named for {0}, and no username")]
    Username(String),
    /// A password that cannot be passed to `svn`.
    #[error("the password for {0} has more than {SVN_PASSWORD_BYTES} bytes, or a line's end in it")]
    Password(String),
    /// An invalid revision.
    #[error("{wanted:?} is no revision of {url}: a number, HEAD, or a date in braces")]
    Revision {
        /// The directory, without credentials.
        url: String,
        /// The requested revision.
        wanted: String,
    },
    /// A repository without the directories that a source needs.
    #[error("{0} has neither trunk nor branches")]
    NoBranches(String),
    /// The content exceeds the limits of a tree.
    #[error("{url} has more than {TREE_FILES} files or {TREE_BYTES} bytes")]
    TooLarge {
        /// The directory, without credentials.
        url: String,
    },
    /// A path is invalid.
    #[error("revision {revision} of {url}: {error}")]
    Path {
        /// Number of the revision.
        revision: u64,
        /// The directory, without credentials.
        url: String,
        /// The error of the path.
        error: TreePathError,
    },
    /// A file cannot be stored.
    #[error("revision {revision} of {url}: {error}")]
    Intake {
        /// Number of the revision.
        revision: u64,
        /// The directory, without credentials.
        url: String,
        /// The error of the store.
        error: IntakeError,
    },
    /// The code store failed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

/// Variables of Tutti's own environment that `svn` receives: those that locate programs and
/// credentials.
const INHERITED_VARIABLES: &[&str] = &["PATH", "HOME", "USER", "SSH_AUTH_SOCK", "TMPDIR"];

// === impl SvnLogin ===

impl SvnLogin {
    /// Credentials from the settings; `None` if there are none.
    pub fn from_settings(
        username: Option<String>,
        password: Option<String>,
    ) -> Result<Option<Self>, &'static str> {
        match (username, password) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err("a password needs a username"),
            (Some(username), password) => Ok(Some(Self {
                username,
                password: password.map(SecretString::from),
            })),
        }
    }
}

impl PartialEq for SvnLogin {
    fn eq(&self, other: &Self) -> bool {
        let exposed = |login: &Self| {
            let password = login.password.as_ref();
            password.map(|it| it.expose_secret().to_owned())
        };
        self.username == other.username && exposed(self) == exposed(other)
    }
}

impl Eq for SvnLogin {}

// === impl SvnAddress ===

impl SvnAddress {
    /// The address of a module, with the revision that it names.
    pub fn from_module_source(
        source: &puppetfile::ModuleSource,
    ) -> Result<(Self, Option<&str>), SvnError> {
        let puppetfile::ModuleSource::Svn {
            remote,
            revision,
            username,
            password,
        } = source
        else {
            return Err(SvnError::Internal);
        };
        let login = SvnLogin::from_settings(username.clone(), password.clone());
        let address = Self {
            url: remote.clone(),
            login: login.map_err(|_| SvnError::Username(strip_credentials(remote)))?,
        };
        Ok((address, revision.as_deref()))
    }

    /// The URL without credentials.
    pub fn to_public_url(&self) -> String {
        strip_credentials(&self.url)
    }

    /// The address of a directory below this one.
    pub(crate) fn join(&self, path: &str) -> Self {
        let url = self.url.trim_end_matches('/');
        Self {
            url: format!("{url}/{path}"),
            login: self.login.clone(),
        }
    }

    /// The URL as an argument, with a peg revision mark so that it is looked up as it is now,
    /// whatever characters it contains.
    fn to_pegged_url(&self) -> Result<String, SvnError> {
        Ok(format!("{}@", check_url(&self.url)?))
    }
}

// === impl SvnProgram ===

impl SvnProgram {
    pub fn new(hold: DirectoryLock) -> Self {
        Self { hold }
    }

    /// The last revision that changed a directory, as of the requested one.
    pub(crate) async fn query_revision(
        &self,
        address: &SvnAddress,
        wanted: &str,
    ) -> Result<u64, SvnError> {
        let pegged = address.to_pegged_url()?;
        let arguments = [
            "--show-item",
            "last-changed-revision",
            "--no-newline",
            "-r",
            wanted,
            "--",
            &pegged,
        ];
        let printed = self.run("info", address, &arguments, LIST_TIMEOUT, WORD_BYTES);
        let printed = printed.await?;
        let number = String::from_utf8_lossy(&printed).trim().parse();
        number.map_err(|_| command_failed("info", address, "it printed something unexpected"))
    }

    /// The directories in a directory.
    pub(crate) async fn list_directories(
        &self,
        address: &SvnAddress,
    ) -> Result<Vec<String>, SvnError> {
        let pegged = address.to_pegged_url()?;
        let arguments = ["--", pegged.as_str()];
        let listed = self.run("list", address, &arguments, LIST_TIMEOUT, REFS_BYTES);
        let listed = String::from_utf8(listed.await?);
        let listed =
            listed.map_err(|_| command_failed("list", address, "names that are not UTF-8"))?;
        let names = listed.lines().filter_map(|line| line.strip_suffix('/'));
        Ok(names.map(str::to_owned).collect())
    }

    /// Writes the files of a revision into a new directory.
    async fn export(&self, address: &SvnAddress, revision: u64, to: &Path) -> Result<(), SvnError> {
        let pegged = address.to_pegged_url()?;
        let to_text = to.to_str().ok_or(SvnError::Internal)?;
        let revision = revision.to_string();
        let arguments = [
            "--quiet",
            "--ignore-externals",
            "-r",
            &revision,
            "--",
            &pegged,
            to_text,
        ];
        let exporting = self.run("export", address, &arguments, FETCH_TIMEOUT, WORD_BYTES);
        tokio::select! {
            exported = exporting => exported.map(drop),
            () = wait_until_too_large(to) => Err(SvnError::TooLarge { url: address.to_public_url() }),
        }
    }

    async fn run(
        &self,
        verb: &'static str,
        address: &SvnAddress,
        arguments: &[&str],
        limit: Duration,
        most_bytes: usize,
    ) -> Result<Vec<u8>, SvnError> {
        let mut command = Command::new("svn");
        command.env_clear();
        for name in INHERITED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            // Names of files are UTF-8 to Subversion; the expansion of `$Date$` must not depend on
            // the machine.
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("SVN_SSH", "ssh -oBatchMode=yes")
            .arg(verb)
            .args(["--non-interactive", "--no-auth-cache"]);
        let password = address.login.as_ref().and_then(|it| it.password.as_ref());
        if let Some(login) = &address.login {
            command.arg(format!("--username={}", login.username));
        }
        match password {
            Some(password) => {
                command.arg("--password-from-stdin");
                command.stdin(password_pipe(password, address)?);
            }
            // If this process is killed, `svn` keeps the lock of the directory, and is then ended.
            None => drop(command.stdin(self.hold.inherited_stdin().map_err(SvnError::Start)?)),
        }
        command.args(arguments);
        let ran = program_runner::run(command, limit, most_bytes).await;
        let ran = ran.map_err(|error| match error {
            ProgramError::Start(source) => SvnError::Start(source),
            error => command_failed(verb, address, &error.to_string()),
        })?;
        if ran.status.success() {
            return Ok(ran.stdout);
        }
        let mut said = to_error_message(&ran.stderr, &address.url);
        if let Some(password) = password {
            said = said.replace(password.expose_secret(), "…");
        }
        Err(command_failed(
            verb,
            address,
            &format!("{}: {said}", ran.status),
        ))
    }
}

fn command_failed(verb: &'static str, address: &SvnAddress, why: &str) -> SvnError {
    SvnError::Failed {
        verb,
        url: address.to_public_url(),
        why: why.to_owned(),
    }
}

/// A pipe that contains the whole password.
fn password_pipe(password: &SecretString, address: &SvnAddress) -> Result<Stdio, SvnError> {
    let password = password.expose_secret();
    if password.len() > SVN_PASSWORD_BYTES || password.contains(['\n', '\0']) {
        return Err(SvnError::Password(address.to_public_url()));
    }
    let (reader, mut writer) = io::pipe().map_err(SvnError::Start)?;
    let written = writer.write_all(format!("{password}\n").as_bytes());
    written.map_err(SvnError::Start)?;
    Ok(Stdio::from(reader))
}

/// Returns once a directory exceeds the limits of a tree: Subversion itself has no limits.
async fn wait_until_too_large(directory: &Path) {
    loop {
        tokio::time::sleep(SVN_LOOK).await;
        let directory = directory.to_owned();
        let looked = tokio::task::spawn_blocking(move || tree::is_too_large(&directory));
        if looked.await.unwrap_or(false) {
            return;
        }
    }
}
