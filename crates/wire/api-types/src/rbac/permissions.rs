//! Permissions: object types, actions, and questions about the permissions of a user.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Permission for an action on an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionSpec {
    /// Object type, for example `tasks`.
    pub object_type: String,
    /// Action on the object type, for example `run`.
    pub action: String,
    /// `*` or the id of an instance.
    pub instance: String,
}

/// Object type with its actions: an item of `GET types`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectType {
    /// Object type, for example `tasks`.
    pub object_type: String,
    /// Name that user interfaces show.
    pub display_name: String,
    /// Sentence that describes the object type.
    pub description: String,
    /// Actions that can be permitted on the object type.
    pub actions: Vec<ActionType>,
}

/// Action that can be permitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActionType {
    /// Action on the object type, for example `run`.
    pub name: String,
    /// Name that user interfaces show.
    pub display_name: String,
    /// Sentence that describes the action.
    pub description: String,
    /// True if the action can be permitted on a single instance; otherwise only on `*`.
    pub has_instances: bool,
}

/// Body of `POST permitted`. The reply is a list of booleans in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermittedQuestion {
    /// Id of a user (not a token, despite the name of the key).
    pub token: String,
    /// Permissions to check, in order.
    pub permissions: Vec<PermissionSpec>,
}
