//! Permissions: what there is, and who has what.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A permission on an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionSpec {
    /// For example `tasks`.
    pub object_type: String,
    /// For example `run`.
    pub action: String,
    /// `*` or the id of an instance.
    pub instance: String,
}

/// `GET types`: something that can be acted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectType {
    /// For example `tasks`.
    pub object_type: String,
    /// For people.
    pub display_name: String,
    /// For people.
    pub description: String,
    /// What can be done with it.
    pub actions: Vec<ActionType>,
}

/// Something that can be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActionType {
    /// For example `run`.
    pub name: String,
    /// For people.
    pub display_name: String,
    /// For people.
    pub description: String,
    /// Whether it can be permitted on one instance; otherwise on `*` only.
    pub has_instances: bool,
}

/// `POST permitted`: the answer is a list of booleans in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermittedQuestion {
    /// The id of a user or a group (no token, whatever its name says).
    pub token: String,
    /// What is asked.
    pub permissions: Vec<PermissionSpec>,
}
