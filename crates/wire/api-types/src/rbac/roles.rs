//! Roles: sets of permissions that users and groups have.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PermissionSpec;

/// A role with its permissions and members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Role {
    /// Number of the role.
    pub id: i64,
    /// Name of the role; unique.
    pub display_name: String,
    /// Free text; may be empty.
    pub description: String,
    /// Permissions that the role grants.
    pub permissions: Vec<PermissionSpec>,
    /// Ids of the users who have it.
    pub user_ids: Vec<String>,
    /// Ids of the groups whose members have it.
    pub group_ids: Vec<String>,
}

/// Body of `POST roles`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    /// Name of the role; unique.
    pub display_name: String,
    /// Free text; may be empty.
    #[serde(default)]
    pub description: String,
    /// Permissions that the role grants.
    #[serde(default)]
    pub permissions: Vec<PermissionSpec>,
    /// Ids of the users who have the role.
    #[serde(default)]
    pub user_ids: Vec<String>,
    /// Ids of the groups whose members have the role.
    #[serde(default)]
    pub group_ids: Vec<String>,
}

/// Body of `PUT roles/:rid`: the complete role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleUpdate {
    /// Number of the role, the same as in the path.
    pub id: i64,
    /// Name of the role; unique.
    pub display_name: String,
    /// Free text; may be empty.
    #[serde(default)]
    pub description: String,
    /// Permissions that the role grants.
    pub permissions: Vec<PermissionSpec>,
    /// Ids of the users who have the role.
    pub user_ids: Vec<String>,
    /// Ids of the groups whose members have the role.
    pub group_ids: Vec<String>,
}

/// Body of `POST command/roles/add-users` and `remove-users`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleUsers {
    /// Id of the role.
    pub role_id: i64,
    /// Ids of the users to add or remove.
    pub user_ids: Vec<String>,
}

/// Body of `POST command/roles/add-groups` and `remove-groups`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleGroups {
    /// Id of the role.
    pub role_id: i64,
    /// Ids of the groups to add or remove.
    pub group_ids: Vec<String>,
}

/// Body of `POST command/roles/add-permissions` and `remove-permissions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RolePermissions {
    /// Id of the role.
    pub role_id: i64,
    /// Permissions to add or remove.
    pub permissions: Vec<PermissionSpec>,
}
