//! Groups of external directories.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A group of an external directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// UUID of the group.
    pub id: String,
    /// Name of the group in the directory.
    pub login: String,
    /// Name that lists and user interfaces show.
    pub display_name: String,
    /// Ids of the group's roles.
    pub role_ids: Vec<i64>,
    /// Ids of users who were members at their last login.
    pub user_ids: Vec<String>,
    /// Always true, since this is a group.
    pub is_group: bool,
    /// Always true, since groups come from external directories.
    pub is_remote: bool,
    /// Always false for a group.
    pub is_superuser: bool,
    /// Directory of the group: the id of an LDAP directory, or the issuer of the identity provider.
    /// Absent: the group belongs to no directory, so it has no members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider_id: Option<String>,
}

/// Body of `POST groups`, versions 1 and 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupImport {
    /// Name of the group in the directory.
    pub login: String,
    /// Name that lists and user interfaces show; absent: the login.
    #[serde(default)]
    pub display_name: String,
    /// Ids of the group's roles.
    #[serde(default)]
    pub role_ids: Vec<i64>,
    /// Directory of the group: the id of an LDAP directory, or the issuer of the identity provider.
    /// Absent: the only directory, or the only one that has the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider_id: Option<String>,
    /// True to look the group up in the directories first. Absent: only if there is no identity
    /// provider, since the groups of those cannot be looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<bool>,
}

/// Body of `PUT groups/:sid`: the complete group, in the format of `GET`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupUpdate {
    /// UUID of the group, the same as in the path.
    pub id: String,
    /// Name of the group in the directory; cannot be changed.
    pub login: String,
    /// Name that lists and user interfaces show.
    #[serde(default)]
    pub display_name: String,
    /// Ids of the group's roles.
    pub role_ids: Vec<i64>,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub user_ids: Vec<String>,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub is_group: bool,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub is_remote: bool,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub is_superuser: bool,
    /// Directory of the group; absent: unchanged. If the directory changes, the group loses its
    /// members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider_id: Option<String>,
}
