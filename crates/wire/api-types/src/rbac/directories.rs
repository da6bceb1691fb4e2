//! LDAP directories: [`LdapSettings`] with Puppet Enterprise's keys, and tests of directories.

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::{LDAP_CONNECT_SECONDS, LDAPS_PORT};

/// Connection and search settings of an LDAP directory. The password can be set and is never
/// returned.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapSettings {
    /// UUID that the server assigns; absent in a new directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name that lists and user interfaces show.
    #[serde(default)]
    pub display_name: String,
    /// URL of help for the directory's users; absent: none.
    #[serde(default)]
    pub help_link: Option<String>,
    /// Host name of the LDAP server; several replicas, separated by spaces or commas, are tried in
    /// turn.
    pub hostname: String,
    /// TCP port of the LDAP server; absent: 636 with `ssl`, 389 without.
    #[serde(default)]
    pub port: Option<u16>,
    /// Use TLS from the first byte (LDAPS).
    #[serde(default = "yes")]
    pub ssl: bool,
    /// Upgrade the connection with `StartTLS`; then `ssl` is off.
    #[serde(default)]
    pub start_tls: bool,
    /// Always true: the host name in the server's certificate is always checked.
    #[serde(default = "yes")]
    pub ssl_hostname_validation: bool,
    /// Accepted without effect: certificates for `*.domain` are valid.
    #[serde(default)]
    pub ssl_wildcard_validation: bool,
    /// CA certificates in PEM; absent: those of the operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_certificates: Option<String>,
    /// Timeout for establishing a connection, in seconds.
    #[serde(default = "connect_timeout")]
    pub connect_timeout: u64,
    /// DN that binds for searches; absent or empty: anonymous searches.
    #[serde(default)]
    pub login: Option<String>,
    /// Password of the DN in `login`.
    #[serde(default, skip_serializing)]
    pub password: Option<String>,
    /// DN below which all searches take place.
    pub base_dn: String,
    /// RDN below which users are searched, relative to `base_dn`; absent: `base_dn` itself.
    #[serde(default)]
    pub user_rdn: Option<String>,
    /// Attribute that holds the user's login.
    pub user_lookup_attr: String,
    /// Attribute that holds the user's display name.
    #[serde(default = "common_name")]
    pub user_display_name_attr: String,
    /// Attribute that holds the user's e-mail address.
    #[serde(default = "mail")]
    pub user_email_attr: String,
    /// Attribute of users that lists their groups, such as `memberOf`; absent: groups are searched
    /// by `group_member_attr`.
    #[serde(default)]
    pub user_member_of_attr: Option<String>,
    /// RDN below which groups are searched, relative to `base_dn`; absent: `base_dn` itself.
    #[serde(default)]
    pub group_rdn: Option<String>,
    /// Object class of groups.
    #[serde(default = "any_class")]
    pub group_object_class: String,
    /// Attribute that lists the members of a group as DNs, or as logins if it is `memberUid`.
    #[serde(default = "member")]
    pub group_member_attr: String,
    /// Attribute that holds the group's display name.
    #[serde(default = "common_name")]
    pub group_name_attr: String,
    /// Attribute that holds the name by which groups are imported.
    #[serde(default = "common_name")]
    pub group_lookup_attr: String,
    /// True if membership in nested groups counts.
    #[serde(default)]
    pub search_nested_groups: bool,
    /// Accepted without effect: the matching rule is never used.
    #[serde(default)]
    pub disable_ldap_matching_rule_in_chain: bool,
}

/// Result of a test of a directory; the HTTP status is 400 if there is an `error`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DirectoryTest {
    /// Duration of the test, in milliseconds.
    pub elapsed: u64,
    /// Cause of the failure; absent if the test succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// User that was looked up; absent if the request named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<FoundUser>,
}

/// A user as the directory describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundUser {
    /// Login name of the user.
    pub login: String,
    /// Name that lists and user interfaces show.
    pub display_name: String,
    /// E-mail address; may be empty.
    pub email: String,
    /// Names and DNs of all groups of the user.
    pub groups: Vec<String>,
}

/// Body of `POST command/ldap/test`: tests given settings or a stored directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapTest {
    /// Id of a stored directory; absent: `settings` are tested.
    #[serde(default)]
    pub id: Option<String>,
    /// Settings that are not stored; absent: the directory with `id` is tested.
    #[serde(default)]
    pub settings: Option<LdapSettings>,
    /// Login of a user to look up; absent: none.
    #[serde(default)]
    pub user: Option<String>,
    /// Name of a group to look up; absent: none.
    #[serde(default)]
    pub group: Option<String>,
}

/// Body of `POST command/ldap/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapDelete {
    /// Id of the directory.
    pub id: String,
}

/// Reply to `POST command/ldap/create` and `update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LdapId {
    /// Id of the directory.
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
    /// Returns the TCP port to connect to.
    pub fn effective_port(&self) -> u16 {
        let usual = match self.ssl {
            true => LDAPS_PORT,
            false => 389,
        };
        self.port.unwrap_or(usual)
    }

    /// Returns the host names, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hostname
            .split([' ', ','])
            .filter(|host| !host.is_empty())
    }
}

partial_debug!(LdapSettings {
    id,
    hostname,
    base_dn
});
