//! Conversion of values to JSON. Main functions: [`to_json`] for parameters, [`to_result_json`] for
//! results of plans.
//!
//! Invariant: a value that JSON cannot represent is refused with its path, and a secret never
//! becomes part of a result.

use pcore::{Hash, Type, Value};
use serde_json::{Map, Value as Json, json};

use crate::error_object::error_attribute;
use crate::objects::{PlanFuture, PlanResource, PlanTarget, ResultSet, TaskResult, UnknownResult};

/// A value that JSON cannot represent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotData {
    /// Path of the value, such as `['a'][1]`; empty for the whole value.
    pub(crate) path: String,
    pub(crate) ty: String,
}

/// Converts values that JSON cannot represent; `None` if they are refused.
type NonJsonFallback = fn(&Value) -> Option<Json>;

/// Converts a parameter of a task; the flag is true if it contains a `Sensitive` value.
pub(crate) fn to_json(value: &Value) -> Result<(Json, bool), NotData> {
    let mut secret = false;
    let json = walk(value, &mut String::new(), &mut secret, unknown)?;
    Ok((json, secret))
}

/// Converts the result of a plan, which is a `PlanResult`. A `Sensitive` value is refused.
pub(crate) fn to_result_json(value: &Value) -> Result<Json, NotData> {
    let mut secret = false;
    let path = &mut String::new();
    let json = walk(value, path, &mut secret, object)?;
    if secret {
        return Err(NotData {
            path: String::new(),
            ty: "Sensitive".to_owned(),
        });
    }
    Ok(json)
}

/// Converts any value for users and journals. Never fails and never shows a secret.
pub(crate) fn to_display_json(value: &Value) -> Json {
    match value {
        Value::Sensitive(_) => json!(pcore::REDACTED),
        Value::Array(elements) => elements.iter().map(to_display_json).collect(),
        Value::Hash(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| (key.to_string(), to_display_json(value)));
            Json::Object(entries.collect())
        }
        other => object(other)
            .or_else(|| other.to_json().ok())
            .unwrap_or_else(|| json!(other.to_string())),
    }
}

/// Converts an `Error` object to `{kind, msg, details}`.
pub(crate) fn error_to_json(error: &Value) -> Json {
    let details = error_attribute(error, "details");
    let mut told = json!({
        "kind": to_display_json(&error_attribute(error, "kind")),
        "msg": to_display_json(&error_attribute(error, "msg")),
        "details": details.as_hash().map_or_else(|| json!({}), |it| to_display_json(&it.clone().into())),
    });
    let code = error_attribute(error, "issue_code");
    if !code.is_undef() {
        told["issue_code"] = to_display_json(&code);
    }
    told
}

/// The placeholder of a value that is unknown in a preview; `None` for other values.
fn unknown(value: &Value) -> Option<Json> {
    let unknown = value.downcast_object::<UnknownResult>()?;
    Some(json!(unknown.to_display_text()))
}

/// The JSON form of an object in a result; `None` if it has none.
fn object(value: &Value) -> Option<Json> {
    if let Some(placeholder) = unknown(value) {
        return Some(placeholder);
    }
    if let Some(target) = value.downcast_object::<PlanTarget>() {
        return Some(json!(target.safe_name()));
    }
    if let Some(result) = value.downcast_object::<TaskResult>() {
        return Some(result.to_data());
    }
    if let Some(set) = value.downcast_object::<ResultSet>() {
        return Some(set.results().iter().map(|it| it.to_data()).collect());
    }
    if let Some(resource) = value.downcast_object::<PlanResource>() {
        return Some(to_display_json(&Value::hash(resource.data())));
    }
    if let Some(future) = value.downcast_object::<PlanFuture>() {
        return Some(json!(format!("Future '{}'", future.name())));
    }
    match value {
        Value::Object(_) if Type::error().is_instance(value) => Some(error_to_json(value)),
        _ => None,
    }
}

fn walk(
    value: &Value,
    path: &mut String,
    secret: &mut bool,
    other: NonJsonFallback,
) -> Result<Json, NotData> {
    Ok(match value {
        Value::Undef => Json::Null,
        Value::Bool(flag) => Json::from(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => serde_json::Number::from_f64(*number)
            .map(Json::Number)
            .ok_or_else(|| not_data(value, path))?,
        Value::Str(text) => Json::from(&**text),
        Value::Sensitive(inner) => {
            *secret = true;
            walk(inner, path, secret, other)?
        }
        Value::Array(elements) => {
            let mut list = Vec::with_capacity(elements.len());
            for (index, element) in elements.iter().enumerate() {
                list.push(within(path, &format!("[{index}]"), |path| {
                    walk(element, path, secret, other)
                })?);
            }
            Json::Array(list)
        }
        Value::Hash(entries) => hash(entries, path, secret, other)?,
        value => other(value).ok_or_else(|| not_data(value, path))?,
    })
}

fn hash(
    entries: &Hash,
    path: &mut String,
    secret: &mut bool,
    other: NonJsonFallback,
) -> Result<Json, NotData> {
    let mut object = Map::with_capacity(entries.len());
    for (key, value) in entries.iter() {
        let Value::Str(name) = key else {
            let of_key = format!("{path} (a key)");
            return Err(not_data(key, &of_key));
        };
        let value = within(path, &format!("['{name}']"), |path| {
            walk(value, path, secret, other)
        })?;
        object.insert(name.to_string(), value);
    }
    Ok(Json::Object(object))
}

fn within<T>(path: &mut String, step: &str, walk: impl FnOnce(&mut String) -> T) -> T {
    let before = path.len();
    path.push_str(step);
    let result = walk(path);
    path.truncate(before);
    result
}

fn not_data(value: &Value, path: &str) -> NotData {
    NotData {
        path: path.to_owned(),
        ty: Type::infer(value).generalize().to_string(),
    }
}
