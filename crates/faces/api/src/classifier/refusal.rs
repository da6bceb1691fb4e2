//! Errors of the classifier, as clients get them.

use api_types::{ApiError, kinds};
use classifier::{
    EditError, FactSourceError, GroupConflict, GroupId, HierarchyError, NodeGroupRight,
    SchemaError, UnknownGroup,
};
use serde_json::{Value, json};

use super::responses::group;
use crate::failure::ApiFailure;

/// The error for a missing right.
pub(super) fn not_permitted_error(right: NodeGroupRight, group: GroupId) -> ApiFailure {
    let permission = format!("node_groups:{}:{group}", right.action());
    let msg = format!("this needs the permission {permission}, or the same on a group above");
    let refused = ApiError::new(kinds::NOT_PERMITTED, msg);
    refused.with("permission", json!(permission)).into()
}

/// The error for a body that does not match its schema.
pub(super) fn schema(error: &SchemaError, submitted: &Value) -> ApiFailure {
    let refused = ApiError::new(kinds::SCHEMA_VIOLATION, error.to_string());
    refused
        .with("path", json!(error.place))
        .with("error", json!(error.what))
        .with("submitted", shorten(submitted))
        .into()
}

/// The error for an object that does not exist.
pub(super) fn not_found(what: &str, name: &str) -> ApiFailure {
    let name: String = name.chars().take(200).collect();
    let msg = format!("there is no {what} {name:?}");
    ApiError::new(kinds::CLASSIFIER_NOT_FOUND, msg)
        .with(what, json!(name))
        .into()
}

pub(super) fn unknown_error(error: UnknownGroup) -> ApiFailure {
    let refused = ApiError::new(kinds::CLASSIFIER_NOT_FOUND, error.to_string());
    refused.with("group", json!(error.0)).into()
}

/// The error for groups with conflicting values.
pub(super) fn conflict(conflict: &GroupConflict) -> ApiFailure {
    let mut refused = ApiError::new(kinds::CLASSIFICATION_CONFLICT, conflict.to_string());
    if let Value::Object(details) = json!(conflict) {
        refused.body.details = details;
    }
    refused.into()
}

/// The error if no source of facts is available.
pub(super) fn no_facts_error(error: &FactSourceError) -> ApiFailure {
    tracing::warn!(error = %error_causes::chain(error), "no facts to classify with");
    ApiError::new(kinds::FACTS_UNAVAILABLE, format!("{error}; try again")).into()
}

/// The error for a refused edit.
pub(super) fn edit_error(error: EditError) -> ApiFailure {
    let text = error.to_string();
    let refused = match &error {
        EditError::Unknown(group) => return unknown_error(*group),
        EditError::NotPermitted { right, group } => return not_permitted_error(*right, *group),
        EditError::ConflictingIds {
            submitted,
            addressed,
        } => ApiError::new(kinds::CONFLICTING_IDS, text)
            .with("submitted", json!(submitted))
            .with("fromUrl", json!(addressed)),
        EditError::Serial { given, current } => ApiError::new(kinds::SERIAL_NUMBER_CONFLICT, text)
            .with("submitted", json!(given))
            .with("current", json!(current)),
        EditError::RootRule | EditError::RootStays => ApiError::new(kinds::ROOT_GROUP, text),
        EditError::ChildrenPresent {
            group: parent,
            children,
        } => {
            let children: Vec<_> = children.iter().map(|child| group(child)).collect();
            ApiError::new(kinds::CHILDREN_PRESENT, text)
                .with("group", json!(group(parent)))
                .with("children", json!(children))
        }
        EditError::Unreachable { names } => {
            ApiError::new(kinds::UNREACHABLE_GROUPS, text).with("groups", json!(names))
        }
        EditError::TooManyPins => ApiError::new(kinds::GROUP_LIMIT, text),
        EditError::Hierarchy(error) => hierarchy(error),
        EditError::Stale => ApiError::new(kinds::SERIAL_NUMBER_CONFLICT, text),
        EditError::Store(_) | EditError::Reload(_) | EditError::Stopped(_) => {
            return ApiFailure::internal("write the node groups", &error);
        }
    };
    refused.into()
}

fn hierarchy(error: &HierarchyError) -> ApiError {
    let text = error.to_string();
    match error {
        HierarchyError::SameName { name, environment } => {
            ApiError::new(kinds::UNIQUENESS_VIOLATION, text)
                .with(
                    "conflict",
                    json!({"name": name, "environment": environment}),
                )
                .with("constraintName", json!("node_groups_name_environment"))
        }
        HierarchyError::SameId(id) => ApiError::new(kinds::UNIQUENESS_VIOLATION, text)
            .with("conflict", json!({"id": id}))
            .with("constraintName", json!("node_groups_id")),
        HierarchyError::MissingParent { id, parent, .. } => {
            ApiError::new(kinds::MISSING_PARENT, text)
                .with("group", json!(id))
                .with("parent", json!(parent))
        }
        HierarchyError::Cycle { ids, names } => ApiError::new(kinds::INHERITANCE_CYCLE, text)
            .with("groups", json!(ids))
            .with("names", json!(names)),
        HierarchyError::NoRoot => ApiError::new(kinds::UNREACHABLE_GROUPS, text),
        HierarchyError::TooMany | HierarchyError::TooDeep(_) => {
            ApiError::new(kinds::GROUP_LIMIT, text)
        }
        HierarchyError::Pattern { .. } => ApiError::new(kinds::SCHEMA_VIOLATION, text),
    }
}

/// The submitted value, unless it is long: an error must not be as large as a hostile request.
fn shorten(submitted: &Value) -> Value {
    /// Size limit of a repeated value: two screens.
    const SHOWN_BYTES: usize = 4_096;
    let text = submitted.to_string();
    match text.len() {
        0..=SHOWN_BYTES => submitted.clone(),
        length => json!(format!("{length} bytes")),
    }
}
