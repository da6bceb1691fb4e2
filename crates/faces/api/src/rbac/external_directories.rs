//! External directories (LDAP, OIDC): [`ExternalDirectories`].

use external_directories::{LdapDirectories, OidcProvider};

/// LDAP directories and the identity provider.
#[derive(Clone, Debug)]
pub struct ExternalDirectories {
    /// LDAP directories, which may be none.
    pub directories: LdapDirectories,
    /// The `OpenID` Connect provider; `None` if it is not configured.
    pub oidc: Option<OidcProvider>,
}

/// Prefixes of the origins `oidc:ISSUER` and `ldap:ID`.
const PREFIXES: [&str; 2] = ["ldap:", "oidc:"];

impl ExternalDirectories {
    /// Origins of all directories and of the identity provider.
    pub fn origins(&self) -> Vec<String> {
        let mut origins = self.directories.origins();
        origins.extend(self.oidc.as_ref().map(OidcProvider::origin));
        origins
    }

    /// The origin of the directory with this id, or of the provider with this issuer.
    pub(crate) fn origin_of(&self, id: &str) -> Option<String> {
        let mut origins = self.origins().into_iter();
        origins.find(|origin| provider_id(origin).as_deref() == Some(id))
    }
}

/// The id of an LDAP directory or the issuer of a provider, in the form of the API.
pub(crate) fn provider_id(origin: &str) -> Option<String> {
    let id = PREFIXES
        .iter()
        .find_map(|prefix| origin.strip_prefix(prefix));
    id.map(str::to_owned)
}
