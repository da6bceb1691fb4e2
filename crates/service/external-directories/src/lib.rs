//! Users who live elsewhere: LDAP directories ([`Directories`], [`Recheck`]) and an identity
//! provider by `OpenID` Connect ([`Oidc`]).
//!
//! The rules: an empty password is never sent to a directory, for which it would be no question
//! at all; what a user types reaches a filter only escaped; referrals are not followed; every
//! question has an end, and a directory that is down, slow or hostile takes nothing from users of
//! this server; what is stored of a directory is sealed as a whole.

mod book;
mod check;
pub mod defaults;
mod ldap;
pub mod oidc;
mod recheck;
mod roots;

pub use book::{BookError, Directories, FixedDirectory, OpenBookError, origin};
pub use check::SettingsError;
pub use ldap::{LdapError, LdapSecrets, LdapServer, LdapUser};
pub use oidc::{Oidc, OidcConfig, OidcConfigError, OidcError, OidcSecrets, Redirect, Started};
pub use recheck::Recheck;
