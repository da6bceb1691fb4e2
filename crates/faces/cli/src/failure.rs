//! The reasons why a command fails. Main type: [`CommandFailure`].

use std::fmt::Display;
use std::path::PathBuf;

use crate::terminal;

/// A value, or the reason why the command fails.
pub type Result<T, E = CommandFailure> = std::result::Result<T, E>;

/// A failed command. Every variant ends with exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// The arguments contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read.
    #[error("cannot read {path}: {}", file_cause(source))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {}", file_cause(source))]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The content of a file or option is not valid.
    #[error("{place} is not valid: {what}")]
    Content {
        /// The file or option, as named in the message.
        place: String,
        /// The mistake and where it is.
        what: String,
    },
    /// The token file does not exist or is empty.
    #[error("you are not logged in: there is no token in {0}; run `tutti login`")]
    NoToken(PathBuf),
    /// The service does not answer.
    #[error(
        "cannot reach {url}: {cause}; is `tutti server` running there, and does --service-url say the right place?"
    )]
    Unreachable {
        /// URL of the request.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// The server's certificate is not trusted.
    #[error(
        "{url} shows a certificate that does not fit {cacert}: {cause}; --cacert must be the CA of that \
         server, and --service-url a name that its certificate has"
    )]
    Untrusted {
        /// URL of the request.
        url: String,
        /// File of the CA certificate that was used.
        cacert: PathBuf,
        /// The error of TLS.
        cause: String,
    },
    /// The service refused the request.
    #[error("{msg} ({kind}, HTTP {status})")]
    Refused {
        /// HTTP status of the response.
        status: u16,
        /// Kind of the error, such as `puppetlabs.orchestrator/unknown-job`.
        kind: String,
        /// Message of the service.
        msg: String,
        /// The missing permission, if the service names one.
        permission: Option<String>,
        /// Details of the error, by name.
        details: Box<api_types::Object>,
    },
    /// The service's response cannot be read.
    #[error(
        "{url} answered what this client does not understand: {what}; is it a Tutti API of the same version?"
    )]
    Answer {
        /// URL of the request.
        url: String,
        /// The mistake in the response.
        what: String,
    },
    /// The callback listener cannot be opened.
    #[error(
        "cannot listen on 127.0.0.1:{port} for the browser that comes back: {source}; without --port a \
         free port is taken"
    )]
    Listen {
        /// The port; 0 is any free port.
        port: u16,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The identity provider sent the browser back without a code.
    #[error("the identity provider refuses the login: {0}")]
    LoginRefused(String),
    /// No browser came back in time.
    #[error(
        "no browser came back from the identity provider within {minutes} minutes; run `tutti login --oidc` \
         again"
    )]
    LoginTimeout {
        /// Minutes that were waited.
        minutes: u64,
    },
    /// The event stream could not be reconnected.
    #[error(
        "the events of job {job} broke off and did not come back: {cause}; the job goes on, see `tutti job show {job}`"
    )]
    StreamLost {
        /// Number of the job.
        job: String,
        /// Cause of the last failed attempt.
        cause: String,
    },
}

/// The failure of a command that was used wrongly.
pub(crate) fn usage<T>(what: impl Into<String>) -> Result<T> {
    Err(CommandFailure::Usage(what.into()))
}

/// The cause of a file error, with a hint.
fn file_cause(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => {
            "there is no such file; look at the path, and from which directory it is meant"
                .to_owned()
        }
        ErrorKind::PermissionDenied => "permission denied; look at its owner and mode".to_owned(),
        ErrorKind::IsADirectory => "it is a directory; name a file".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is no directory".to_owned(),
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

// === impl CommandFailure ===

impl CommandFailure {
    /// Content of a file or option that is not valid.
    pub(crate) fn content(place: impl Display, what: impl Into<String>) -> Self {
        Self::Content {
            place: place.to_string(),
            what: what.into(),
        }
    }

    /// The failure to read a file, from the error of the operating system.
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl Fn(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Read {
            path: path.clone(),
            source,
        }
    }

    /// The failure to write a file, from the error of the operating system.
    pub(crate) fn write(path: impl Into<PathBuf>) -> impl Fn(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write {
            path: path.clone(),
            source,
        }
    }

    /// Prints the message to standard error.
    pub(crate) fn print(&self) {
        let (error, text) = (terminal::style_failure("error:"), self.to_terminal_text());
        anstream::eprintln!("{error} {text}");
    }

    /// The message for a terminal: the parts for programs and search engines are dim.
    pub(crate) fn to_terminal_text(&self) -> String {
        match self {
            Self::Refused {
                status,
                kind,
                msg,
                permission,
                details: _,
            } => {
                let kind = terminal::escape_control(kind);
                let code = terminal::style_dim(format!("({kind}, HTTP {status})"));
                let next = permission.as_ref().map_or_else(String::new, |permission| {
                    let permission = terminal::escape_control(permission);
                    format!(
                        "; an administrator can put it into one of your roles: `tutti role \
                         add-permission ROLE {permission}`"
                    )
                });
                format!("{}{next} {code}", terminal::escape_control(msg))
            }
            other => terminal::escape_control(&other.to_string()),
        }
    }
}
