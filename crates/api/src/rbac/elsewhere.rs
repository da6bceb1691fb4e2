//! Where users come from who are not of this server: [`Elsewhere`].

use access_directory::{Directories, Oidc};

/// Directories and the identity provider.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// LDAP.
    pub directories: Directories,
    /// `OpenID` Connect, where it is configured.
    pub oidc: Option<Oidc>,
}
