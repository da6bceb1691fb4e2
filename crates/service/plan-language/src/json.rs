//! Values as results and parameters: JSON out of what plans hold. Main functions: [`to_json`] for parameters,
//! [`to_result_json`] for what a plan gives.
//!
//! Invariant: what JSON cannot hold is refused with its place, and a secret never becomes
//! part of a result.

use pcore::{Hash, Type, Value};
use serde_json::{Map, Value as Json, json};

use crate::failure::attribute;
use crate::objects::{PlanFuture, PlanTarget, ResultSet, TaskResult, UnknownResult};

/// Something that cannot be said in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotData {
    /// `['a'][1]`; empty for the value itself.
    pub(crate) path: String,
    pub(crate) ty: String,
}

/// The treatment of values that JSON cannot hold.
type NonJsonFallback = fn(&Value) -> Option<Json>;

/// A parameter of a task, and whether something in it is secret.
pub(crate) fn to_json(value: &Value) -> Result<(Json, bool), NotData> {
    let mut secret = false;
    let json = walk(value, &mut String::new(), &mut secret, unknown)?;
    Ok((json, secret))
}

/// The result of a plan: `PlanResult`.
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

/// Any value as shown to users and in journals: never fails, never shows a secret.
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

/// `{kind, msg, details}` of an `Error`.
pub(crate) fn error_to_json(error: &Value) -> Json {
    let details = attribute(error, "details");
    let mut told = json!({
        "kind": to_display_json(&attribute(error, "kind")),
        "msg": to_display_json(&attribute(error, "msg")),
        "details": details.as_hash().map_or_else(|| json!({}), |it| to_display_json(&it.clone().into())),
    });
    let code = attribute(error, "issue_code");
    if !code.is_undef() {
        told["issue_code"] = to_display_json(&code);
    }
    told
}

/// The placeholder of something that is not known.
fn unknown(value: &Value) -> Option<Json> {
    let unknown = value.downcast_object::<UnknownResult>()?;
    Some(json!(unknown.to_display_text()))
}

/// An object as part of a result.
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
