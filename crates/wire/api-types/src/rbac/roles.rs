//! Roles.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PermissionSpec;

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Role {
    /// Its number.
    pub id: i64,
    /// Unique.
    pub display_name: String,
    /// May be empty.
    pub description: String,
    /// What it permits.
    pub permissions: Vec<PermissionSpec>,
    /// Ids of the users who have it.
    pub user_ids: Vec<String>,
    /// Ids of the groups whose members have it.
    pub group_ids: Vec<String>,
}

/// `POST roles`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    /// Unique.
    pub display_name: String,
    /// May be empty.
    #[serde(default)]
    pub description: String,
    /// What it permits.
    #[serde(default)]
    pub permissions: Vec<PermissionSpec>,
    /// Ids of users.
    #[serde(default)]
    pub user_ids: Vec<String>,
    /// Ids of groups.
    #[serde(default)]
    pub group_ids: Vec<String>,
}

/// `PUT roles/:rid`: the role as it shall be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleUpdate {
    /// The number of the path.
    pub id: i64,
    /// Unique.
    pub display_name: String,
    /// May be empty.
    #[serde(default)]
    pub description: String,
    /// What it permits.
    pub permissions: Vec<PermissionSpec>,
    /// Ids of users.
    pub user_ids: Vec<String>,
    /// Ids of groups.
    pub group_ids: Vec<String>,
}

/// `POST command/roles/add-users` and `remove-users`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleUsers {
    /// The role.
    pub role_id: i64,
    /// Ids of users.
    pub user_ids: Vec<String>,
}

/// `POST command/roles/add-groups` and its like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleGroups {
    /// The role.
    pub role_id: i64,
    /// Ids of groups.
    pub group_ids: Vec<String>,
}

/// `POST command/roles/add-permissions` and `remove-permissions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RolePermissions {
    /// The role.
    pub role_id: i64,
    /// What comes or goes.
    pub permissions: Vec<PermissionSpec>,
}
