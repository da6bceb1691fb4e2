//! The language's `Error` objects: [`error_object`].

use std::sync::Arc;

use pcore::{Hash, ObjectInstance, Type, TypeKind, Value};
use serde_json::Value as Json;

/// Creates an `Error` object.
pub(crate) fn error_object(
    kind: &str,
    msg: &str,
    details: Hash,
    issue_code: Option<&str>,
) -> Value {
    let mut given = Hash::new();
    given.insert("msg", msg);
    given.insert("kind", kind);
    given.insert("details", Value::hash(details));
    if let Some(code) = issue_code {
        given.insert("issue_code", code);
    }
    match Type::error().kind() {
        TypeKind::Object(of) => Value::Object(Arc::new(ObjectInstance::new(of, given))),
        _ => Value::hash(given),
    }
}

/// Creates an `Error` object from `{kind, msg, details}`.
pub(crate) fn error_from_json(error: &Json) -> Value {
    let text = |key: &str| error.get(key).and_then(Json::as_str);
    let details = error.get("details").map(Value::from_json);
    let details = details.as_ref().and_then(Value::as_hash).cloned();
    error_object(
        text("kind").unwrap_or("puppetlabs.tasks/task-error"),
        text("msg").unwrap_or("the step failed"),
        details.unwrap_or_default(),
        text("issue_code"),
    )
}

/// Returns an attribute of an error; `undef` if it has none of that name.
pub(crate) fn error_attribute(error: &Value, name: &str) -> Value {
    let object = error.as_object();
    object
        .and_then(|object| object.attribute(name))
        .unwrap_or_default()
}
