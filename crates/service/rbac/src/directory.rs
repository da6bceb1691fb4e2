//! Interface to external directories (LDAP servers and OIDC providers): [`ExternalDirectory`]. This
//! crate itself does no network I/O.
//!
//! Invariants: local users come first, and they can log in while a directory is down. A remote user
//! never takes over a local user with the same login.

use std::fmt::Debug;

use async_trait::async_trait;
use secrecy::SecretString;

/// An external directory that checks passwords.
#[async_trait]
pub trait ExternalDirectory: Debug + Send + Sync {
    /// The user, if the password is correct. If a remote user with this login exists already,
    /// `origin` is the directory of that user: as long as that directory exists, no other one
    /// receives the password.
    async fn authenticate(
        &self,
        login: &str,
        password: &SecretString,
        origin: Option<&str>,
    ) -> Result<RemoteUser, DirectoryError>;
}

/// A user with the attributes that the directory returns at login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteUser {
    /// Directory of the user: `ldap:` and the id of a directory, or `oidc:` and an issuer. Users of
    /// different origins are always different users.
    pub origin: String,
    /// Immutable id of the user in the directory, so that a new owner of a login does not inherit
    /// the permissions of the earlier owner. Empty if the directory has no such id.
    pub subject: String,
    /// Name that the user logs in with.
    pub login: String,
    /// Full name, shown in lists.
    pub display_name: String,
    /// E-mail address; may be empty.
    pub email: String,
    /// Names of all groups of the user, nested groups included. They are compared with the `login`
    /// of groups that are imported from the same origin.
    pub groups: Vec<String>,
}

/// Error of an authentication by a directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryError {
    /// The user does not exist, or the password is wrong.
    #[error("the directory does not know this login with this password")]
    Refused,
    /// The directory does not respond, or its response is not valid.
    #[error("the directory cannot be asked: {0}")]
    Unavailable(String),
}
