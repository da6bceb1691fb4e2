//! External directories: LDAP ([`Directories`], [`RemoteUserCheck`]) and an identity provider with
//! `OpenID` Connect ([`Oidc`]).
//!
//! Invariants:
//! - An empty password is never sent to a directory, because LDAP treats such a bind as anonymous.
//! - User input is always escaped in search filters.
//! - Referrals are not followed.
//! - Every query has a timeout. A directory that is down, slow or hostile never affects local users.
//! - The stored settings of all directories are sealed as a whole.

mod book;
mod check;
pub mod defaults;
mod ldap;
pub mod oidc;
mod remote_user_check;
mod roots;

pub use book::{BookError, Directories, FixedDirectory, OpenBookError, origin};
pub use check::SettingsError;
pub use ldap::{LdapError, LdapSecrets, LdapServer, LdapUser};
pub use oidc::{Oidc, OidcConfig, OidcConfigError, OidcError, OidcSecrets, Redirect, Started};
pub use remote_user_check::RemoteUserCheck;
