//! The errors of a directory: [`LdapError`].

use optional_feature::FeatureFault;

use crate::defaults::SHOWN_CHARS;

/// A directory did not answer a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LdapError {
    /// The connection failed.
    #[error("the directory {server} cannot be reached: {cause}")]
    Connect {
        /// Host and port of the server.
        server: String,
        /// The system's error message.
        cause: String,
    },
    /// The directory did not respond within the timeout.
    #[error("the directory {server} did not answer within {seconds} seconds")]
    Slow {
        /// Host and port of the server.
        server: String,
        /// Length of the timeout, in seconds.
        seconds: u64,
    },
    /// The login of the lookup user was rejected.
    #[error(
        "the directory {server} does not take the login and password that are set for looking \
         users up: {words}"
    )]
    Bind {
        /// Host and port of the server.
        server: String,
        /// Error message of the server.
        words: String,
    },
    /// The server refused a search.
    #[error("the directory {server} refuses to search below {base:?}: {words}")]
    Search {
        /// Host and port of the server.
        server: String,
        /// Base DN of the search.
        base: String,
        /// Error message of the server.
        words: String,
    },
    /// The result exceeds a limit.
    #[error("the directory {server} has more than {most} groups for one user")]
    TooMany {
        /// Host and port of the server.
        server: String,
        /// Maximum number of results.
        most: usize,
    },
    /// Two users have the same login.
    #[error("the directory {server} has more than one entry with {attribute}={login:?}")]
    NotUnique {
        /// Host and port of the server.
        server: String,
        /// Name of the lookup attribute.
        attribute: String,
        /// The ambiguous login.
        login: String,
    },
    /// The file of the password or of the CAs cannot be used.
    #[error(transparent)]
    Secrets(#[from] FeatureFault),
    /// The response is not LDAP.
    #[error("the directory {server} does not answer as LDAP servers do")]
    Garbage {
        /// Host and port of the server.
        server: String,
    },
}

// === impl LdapError ===

impl LdapError {
    /// The text for a user who tries to log in, who must not see the server's file names.
    pub(crate) fn to_login_text(&self) -> String {
        match self {
            Self::Secrets(fault) => fault.to_public_message(),
            other => other.to_string(),
        }
    }
}

/// A message of a server in a form that can be shown: in one line, truncated.
pub(super) fn to_one_line(words: &str) -> String {
    let words = words.chars().take(SHOWN_CHARS);
    words
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}

/// The error for a connection that failed during an operation.
pub(super) fn connection_error(server: &str, seconds: u64, error: &ldap3::LdapError) -> LdapError {
    let server = server.to_owned();
    match error {
        ldap3::LdapError::Timeout { .. } => LdapError::Slow { server, seconds },
        other => LdapError::Connect {
            server,
            cause: to_one_line(&other.to_string()),
        },
    }
}
