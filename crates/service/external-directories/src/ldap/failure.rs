//! Why a directory gave no answer: [`LdapError`].

use optional_feature::FeatureFault;

use crate::defaults::SHOWN_CHARS;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LdapError {
    /// No connection.
    #[error("the directory {server} cannot be reached: {cause}")]
    Connect {
        /// Host and port.
        server: String,
        /// As the system tells it.
        cause: String,
    },
    /// It takes too long.
    #[error("the directory {server} did not answer within {seconds} seconds")]
    Slow {
        /// Host and port.
        server: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The lookup user.
    #[error(
        "the directory {server} does not take the login and password that are set for looking \
         users up: {words}"
    )]
    Bind {
        /// Host and port.
        server: String,
        /// What it said.
        words: String,
    },
    /// It refuses a search.
    #[error("the directory {server} refuses to search below {base:?}: {words}")]
    Search {
        /// Host and port.
        server: String,
        /// Where.
        base: String,
        /// What it said.
        words: String,
    },
    /// More than there can be.
    #[error("the directory {server} has more than {most} groups for one user")]
    TooMany {
        /// Host and port.
        server: String,
        /// How many are taken.
        most: usize,
    },
    /// Two users have the login.
    #[error("the directory {server} has more than one entry with {attribute}={login:?}")]
    NotUnique {
        /// Host and port.
        server: String,
        /// The lookup attribute.
        attribute: String,
        /// The login.
        login: String,
    },
    /// The file of its password or its CAs cannot be used.
    #[error(transparent)]
    Secrets(#[from] FeatureFault),
    /// Not LDAP.
    #[error("the directory {server} does not answer as LDAP servers do")]
    Garbage {
        /// Its name.
        server: String,
    },
}

// === impl LdapError ===

impl LdapError {
    /// The text for a user who tries to log in, and may not know the server's files.
    pub(crate) fn for_login(&self) -> String {
        match self {
            Self::Secrets(fault) => fault.without_place(),
            other => other.to_string(),
        }
    }
}

/// Words of a server as they can be shown: in one line, not long.
pub(super) fn shown(words: &str) -> String {
    let words = words.chars().take(SHOWN_CHARS);
    words
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}

/// A failure of the connection in the middle of something.
pub(super) fn broken(server: &str, seconds: u64, error: &ldap3::LdapError) -> LdapError {
    let server = server.to_owned();
    match error {
        ldap3::LdapError::Timeout { .. } => LdapError::Slow { server, seconds },
        other => LdapError::Connect {
            server,
            cause: shown(&other.to_string()),
        },
    }
}
