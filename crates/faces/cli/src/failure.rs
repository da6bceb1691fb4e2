//! Why a command could not be done. Main type: [`Failure`].

use std::path::PathBuf;

use crate::terminal;

/// Every one ends with exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line does not fit together.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be used.
    #[error("cannot read {path}: {}", file_cause(source))]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {}", file_cause(source))]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file's content does not fit.
    #[error("{place} is not valid: {what}")]
    Content {
        /// The file or option.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is no token.
    #[error("you are not logged in: there is no token in {0}; run `tutti login`")]
    NoToken(PathBuf),
    /// The service does not answer.
    #[error(
        "cannot reach {url}: {cause}; is `tutti server` running there, and does --service-url say the right place?"
    )]
    Unreachable {
        /// What was asked.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// The server's certificate cannot be trusted.
    #[error(
        "{url} shows a certificate that does not fit {cacert}: {cause}; --cacert must be the CA of that \
         server, and --service-url a name that its certificate has"
    )]
    Untrusted {
        /// What was asked.
        url: String,
        /// The CA's certificate.
        cacert: PathBuf,
        /// What TLS says.
        cause: String,
    },
    /// The service refused.
    #[error("{msg} ({kind}, HTTP {status})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The error's kind.
        kind: String,
        /// What the service says.
        msg: String,
        /// The permission that is missing.
        permission: Option<String>,
    },
    /// The service's answer cannot be understood.
    #[error(
        "{url} answered what this client does not understand: {what}; is it a Tutti API of the same version?"
    )]
    Answer {
        /// What was asked.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// A browser has nowhere to come back to.
    #[error(
        "cannot listen on 127.0.0.1:{port} for the browser that comes back: {source}; without --port a \
         free port is taken"
    )]
    Listen {
        /// Which; 0 is any.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// The identity provider sent the browser back without a code.
    #[error("the identity provider refuses the login: {0}")]
    LoginRefused(String),
    /// Nobody came back.
    #[error(
        "nobody came back from the identity provider within {minutes} minutes; run `tutti login --oidc` \
         again"
    )]
    LoginTimeout {
        /// How long it was waited.
        minutes: u64,
    },
    /// The event stream did not come back.
    #[error(
        "the events of job {job} broke off and did not come back: {cause}; the job goes on, see `tutti job show {job}`"
    )]
    StreamLost {
        /// The job's number.
        job: String,
        /// The last attempt's cause.
        cause: String,
    },
}

/// The reason why a file cannot be used, and what to look at.
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

// === impl Failure ===

impl Failure {
    /// The message for a terminal: what only programs and search engines want is dim.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Refused {
                status,
                kind,
                msg,
                permission,
            } => {
                let kind = terminal::harmless(kind);
                let code = terminal::dim(format!("({kind}, HTTP {status})"));
                let next = permission.as_ref().map_or_else(String::new, |permission| {
                    let permission = terminal::harmless(permission);
                    format!(
                        "; an administrator can put it into one of your roles: `tutti role \
                         add-permission ROLE {permission}`"
                    )
                });
                format!("{}{next} {code}", terminal::harmless(msg))
            }
            other => terminal::harmless(&other.to_string()),
        }
    }
}
