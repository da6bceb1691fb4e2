//! Users who live elsewhere: what an LDAP server or an identity provider tells. [`Directory`] is
//! the hook; `access` itself asks nobody over the network.
//!
//! The rules: users of this server come first, and a directory that is down keeps none of them
//! out; a user of this server is never taken over by one of the same name from elsewhere.

use std::fmt::Debug;

use async_trait::async_trait;
use secrecy::SecretString;

/// Somebody who checks passwords.
#[async_trait]
pub trait Directory: Debug + Send + Sync {
    /// The user, if the password is right. Where a user of this login is known already, `origin`
    /// says from which directory: no other one is told the password, as long as that one is there.
    async fn authenticate(
        &self,
        login: &str,
        password: &SecretString,
        origin: Option<&str>,
    ) -> Result<RemoteUser, DirectoryError>;
}

/// A user as a directory knows him at his login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteUser {
    /// Who vouches for him: `ldap:` and the id of a directory, or `oidc:` and an issuer. A user
    /// of one is never taken for one of another.
    pub origin: String,
    /// What he is called there for ever, so that nobody inherits from an earlier owner of his
    /// login; empty: the directory has no such name.
    pub subject: String,
    /// The name to log in with.
    pub login: String,
    /// The name for people.
    pub display_name: String,
    /// May be empty.
    pub email: String,
    /// Names of all groups of the user, nested groups included. They are compared with the `login`
    /// of groups that are imported from the same origin.
    pub groups: Vec<String>,
}

/// Why a directory vouches for nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryError {
    /// No such user, or another password.
    #[error("the directory does not know this login with this password")]
    Refused,
    /// It does not answer, or not as it should.
    #[error("the directory cannot be asked: {0}")]
    Unavailable(String),
}
