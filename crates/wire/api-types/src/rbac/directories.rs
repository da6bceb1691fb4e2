//! LDAP directories: [`LdapSettings`] by the names of Puppet Enterprise, and what a test tells.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::{LDAP_CONNECT_SECONDS, LDAPS_PORT};

/// How one LDAP directory is asked. A password is read and never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapSettings {
    /// A UUID that the server gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name for people.
    #[serde(default)]
    pub display_name: String,
    /// Where people find help with it.
    #[serde(default)]
    pub help_link: Option<String>,
    /// The host; several that hold the same, with spaces between, are tried in turn.
    pub hostname: String,
    /// The TCP port; 636, or 389 for `StartTLS`.
    #[serde(default)]
    pub port: Option<u16>,
    /// TLS from the first byte.
    #[serde(default = "yes")]
    pub ssl: bool,
    /// TLS by `StartTLS`; `ssl` is off then.
    #[serde(default)]
    pub start_tls: bool,
    /// Cannot be switched off: the server's name is always checked.
    #[serde(default = "yes")]
    pub ssl_hostname_validation: bool,
    /// Read and of no effect: certificates for `*.domain` are valid.
    #[serde(default)]
    pub ssl_wildcard_validation: bool,
    /// The CA's certificates in PEM; absent: those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_certificates: Option<String>,
    /// Seconds until a connection must be there.
    #[serde(default = "connect_timeout")]
    pub connect_timeout: u64,
    /// The DN that looks users up; absent or empty: nobody.
    #[serde(default)]
    pub login: Option<String>,
    /// Its password.
    #[serde(default, skip_serializing)]
    pub password: Option<String>,
    /// Where everything is below.
    pub base_dn: String,
    /// Where users are below, relative to `base_dn`.
    #[serde(default)]
    pub user_rdn: Option<String>,
    /// The attribute that holds the login.
    pub user_lookup_attr: String,
    /// The attribute with the name for people.
    #[serde(default = "common_name")]
    pub user_display_name_attr: String,
    /// The attribute with the e-mail address.
    #[serde(default = "mail")]
    pub user_email_attr: String,
    /// The attribute of users that names their groups, such as `memberOf`; absent: groups are
    /// looked for by `group_member_attr`.
    #[serde(default)]
    pub user_member_of_attr: Option<String>,
    /// Where groups are below, relative to `base_dn`.
    #[serde(default)]
    pub group_rdn: Option<String>,
    /// Groups have this class.
    #[serde(default = "any_class")]
    pub group_object_class: String,
    /// The attribute with a group's members: DNs; for `memberUid` logins.
    #[serde(default = "member")]
    pub group_member_attr: String,
    /// The attribute with a group's name for people.
    #[serde(default = "common_name")]
    pub group_name_attr: String,
    /// The attribute with the name that groups are imported by.
    #[serde(default = "common_name")]
    pub group_lookup_attr: String,
    /// Whether groups in groups count.
    #[serde(default)]
    pub search_nested_groups: bool,
    /// Read and of no effect: the rule is never used.
    #[serde(default)]
    pub disable_ldap_matching_rule_in_chain: bool,
}

/// `GET v2/ds`: all of them, in the order in which they are asked.
pub type DirectoryList = Vec<LdapSettings>;

/// What a test of a directory found; HTTP 400 with `error`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DirectoryTest {
    /// Milliseconds.
    pub elapsed: u64,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The user that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<FoundUser>,
}

/// A user as the directory tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundUser {
    /// The name to log in with.
    pub login: String,
    /// The name for people.
    pub display_name: String,
    /// May be empty.
    pub email: String,
    /// All groups, by name and DN.
    pub groups: Vec<String>,
}

/// `POST command/ldap/test`: of settings, or of a stored directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapTest {
    /// A stored directory.
    #[serde(default)]
    pub id: Option<String>,
    /// Settings that are not stored.
    #[serde(default)]
    pub settings: Option<LdapSettings>,
    /// Also look up this user.
    #[serde(default)]
    pub user: Option<String>,
    /// Also look up this group.
    #[serde(default)]
    pub group: Option<String>,
}

/// `POST command/ldap/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapDelete {
    /// The directory's id.
    pub id: String,
}

/// `POST command/ldap/create` and `update`: which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LdapId {
    /// The directory's id.
    pub id: String,
}

fn yes() -> bool {
    true
}

fn connect_timeout() -> u64 {
    LDAP_CONNECT_SECONDS
}

fn common_name() -> String {
    "cn".to_owned()
}

fn mail() -> String {
    "mail".to_owned()
}

fn any_class() -> String {
    "*".to_owned()
}

fn member() -> String {
    "member".to_owned()
}

// === impl LdapSettings ===

impl LdapSettings {
    /// The port that is connected to.
    pub fn effective_port(&self) -> u16 {
        let usual = match self.ssl {
            true => LDAPS_PORT,
            false => 389,
        };
        self.port.unwrap_or(usual)
    }

    /// The hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hostname
            .split([' ', ','])
            .filter(|host| !host.is_empty())
    }
}

impl fmt::Debug for LdapSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LdapSettings")
            .field("id", &self.id)
            .field("hostname", &self.hostname)
            .field("base_dn", &self.base_dn)
            .finish_non_exhaustive()
    }
}
