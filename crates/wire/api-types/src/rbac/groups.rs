//! Groups of a directory.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// The UUID.
    pub id: String,
    /// The directory's name for it.
    pub login: String,
    /// The name for people.
    pub display_name: String,
    /// Its roles.
    pub role_ids: Vec<i64>,
    /// Users who were in it at their last login.
    pub user_ids: Vec<String>,
    /// Always true.
    pub is_group: bool,
    /// Always true.
    pub is_remote: bool,
    /// Always false.
    pub is_superuser: bool,
    /// The directory that the group is of: the id of an LDAP directory, or the issuer of the
    /// identity provider. Absent: of none, so it has no members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider_id: Option<String>,
}

/// `POST groups`, version 1 and 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupImport {
    /// The directory's name for it.
    pub login: String,
    /// The name for people; absent: the login.
    #[serde(default)]
    pub display_name: String,
    /// Its roles.
    #[serde(default)]
    pub role_ids: Vec<i64>,
    /// The directory that the group is of: the id of an LDAP directory, or the issuer of the
    /// identity provider. Absent: the only one, or the only one that has the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider_id: Option<String>,
    /// Whether the directories are asked for it first; absent: if there is no identity
    /// provider, whose groups nobody can be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<bool>,
}

/// `PUT groups/:sid`: the group as it shall be, with what `GET` shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupUpdate {
    /// The id of the path.
    pub id: String,
    /// Cannot change.
    pub login: String,
    /// The name for people.
    #[serde(default)]
    pub display_name: String,
    /// Its roles.
    pub role_ids: Vec<i64>,
    /// Not read.
    #[serde(default)]
    pub user_ids: Vec<String>,
    /// Not read.
    #[serde(default)]
    pub is_group: bool,
    /// Not read.
    #[serde(default)]
    pub is_remote: bool,
    /// Not read.
    #[serde(default)]
    pub is_superuser: bool,
    /// The directory that the group is of; absent: the one that it is of already. The members of
    /// a group that gets another directory leave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider_id: Option<String>,
}
