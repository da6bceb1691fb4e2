//! External directories: LDAP ([`LdapDirectories`], [`RemoteUserCheck`]) and an identity provider
//! with `OpenID` Connect ([`OidcProvider`]).
//!
//! Invariants:
//! - An empty password is never sent to a directory, because LDAP treats such a bind as anonymous.
//! - User input is always escaped in search filters.
//! - Referrals are not followed.
//! - Every query has a timeout. A directory that is down, slow or hostile never affects local
//!   users.
//! - The stored settings of all directories are sealed as a whole.

pub mod defaults;
mod directories;
mod ldap;
pub mod oidc;
mod remote_user_check;
mod settings_check;
mod tls_roots;

pub use directories::{
    DirectoryChangeError, FixedDirectory, LdapDirectories, OpenDirectoriesError, ldap_origin,
};
pub use ldap::{LdapError, LdapSecrets, LdapServer, LdapUser};
pub use oidc::{
    OidcConfig, OidcConfigError, OidcError, OidcProvider, OidcRedirect, OidcSecrets, StartedLogin,
};
pub use remote_user_check::RemoteUserCheck;
pub use settings_check::SettingsError;
