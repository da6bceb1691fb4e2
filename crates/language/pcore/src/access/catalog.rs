//! References to resources and classes: `File['/x']`, `Class['x']`.
//!
//! Invariant: parameters of resources (`File['/x']['mode']`) are looked up by the owner of the
//! catalog, not here.

use std::sync::Arc;

use super::AccessError;
use super::arguments::{flatten, key_type_name};
use crate::text::capitalize_segments;
use crate::types::{Type, TypeKind};
use crate::value::Value;
use syntax::ast::labels::{with_article, with_capital_article};

pub(super) fn parameterize_catalog(ty: &Type, arguments: &[Value]) -> Result<Value, AccessError> {
    if arguments.is_empty() {
        return Err(AccessError::arity(&ty.to_string(), 1, None, 0));
    }
    match ty.kind() {
        TypeKind::Class(_) => class(arguments),
        TypeKind::Resource { type_name, .. } => resource(ty, type_name.as_deref(), arguments),
        _ => Ok(Value::Undef),
    }
}

/// The only type, or a list of types if `list` is set.
fn one_or_list(types: Vec<Type>, list: bool) -> Value {
    let mut values: Vec<Value> = types.into_iter().map(Value::Type).collect();
    if list {
        Value::array(values)
    } else {
        values.pop().unwrap_or_default()
    }
}

fn nothing_given() -> AccessError {
    AccessError::new(
        "EMPTY_RESOURCE_SPECIALIZATION",
        Some(0),
        "Arguments to Resource[] are all empty/undefined".to_owned(),
    )
}

fn given(arguments: &[Value]) -> Vec<Value> {
    let mut flat = flatten(arguments);
    flat.retain(|argument| !argument.is_undef());
    flat
}

fn is_list(arguments: &[Value]) -> bool {
    arguments.len() > 1 || matches!(arguments.first(), Some(Value::Array(_)))
}

fn class(arguments: &[Value]) -> Result<Value, AccessError> {
    let names = given(arguments);
    if names.is_empty() {
        return Err(nothing_given());
    }
    let mut types = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let Value::Str(text) = name else {
            let label = with_capital_article(&key_type_name(name));
            return Err(AccessError::new(
                "ILLEGAL_HOSTCLASS_NAME",
                Some(index),
                format!(
                    "Illegal Class name in class reference. {label} cannot be used where a String is expected"
                ),
            ));
        };
        let lower = text.to_lowercase();
        let lower = lower.strip_prefix("::").unwrap_or(&lower);
        if !is_class_name(lower) {
            return Err(AccessError::new(
                "ILLEGAL_NAME",
                Some(index),
                format!(
                    "Illegal name. The given name '{text}' does not conform to the naming rule /^((::)?[a-z_]\\w*)(::[a-z]\\w*)*$/"
                ),
            ));
        }
        types.push(Type::class_of(lower));
    }
    Ok(one_or_list(types, is_list(arguments)))
}

fn is_class_name(name: &str) -> bool {
    name.split("::")
        .all(|segment| segment.starts_with(|c: char| c.is_ascii_lowercase()) && is_word(segment))
}

fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_type_name(name: &str) -> bool {
    let name = name.strip_prefix("::").unwrap_or(name);
    name.split("::")
        .all(|segment| segment.starts_with(|c: char| c.is_ascii_uppercase()) && is_word(segment))
}

fn resource(ty: &Type, type_name: Option<&str>, arguments: &[Value]) -> Result<Value, AccessError> {
    let (name, titles) = match (type_name, arguments.split_first()) {
        (Some(name), _) => (name.to_owned(), arguments),
        (None, Some((first, rest))) => (resource_name(first)?, rest),
        (None, None) => return Ok(Value::Undef),
    };
    if !is_type_name(&name) {
        return Err(AccessError::new(
            "ILLEGAL_CLASSREF",
            Some(0),
            format!(
                "Illegal type reference. The given name '{name}' does not conform to the naming rule"
            ),
        ));
    }
    let texts = given(titles);
    if texts.is_empty() && !titles.is_empty() {
        return Err(nothing_given());
    }
    if texts.is_empty() {
        return Ok(Type::resource_of(name, None).into());
    }
    let offset = arguments.len() - titles.len();
    let mut types = Vec::with_capacity(texts.len());
    for (index, title) in texts.iter().enumerate() {
        let Value::Str(text) = title else {
            let label = with_article(&format!("{ty}-Type"));
            return Err(AccessError::new(
                "BAD_TYPE_SPECIALIZATION",
                Some(index + offset),
                format!(
                    "Error creating type specialization of {label}, Cannot use {} where a resource title String is expected",
                    key_type_name(title)
                ),
            ));
        };
        types.push(Type::resource_of(name.as_str(), Some(Arc::clone(text))));
    }
    Ok(one_or_list(types, is_list(titles)))
}

fn resource_name(value: &Value) -> Result<String, AccessError> {
    let name = match value {
        Value::Str(name) => Some(capitalize_segments(name)),
        Value::Type(ty) => match ty.kind() {
            TypeKind::Resource {
                type_name: Some(name),
                ..
            } => Some(name.to_string()),
            _ => None,
        },
        _ => None,
    };
    name.ok_or_else(|| {
        AccessError::new(
            "ILLEGAL_RESOURCE_SPECIALIZATION",
            Some(0),
            format!(
                "First argument to Resource[] must be a resource type or a String. Got {}.",
                key_type_name(value)
            ),
        )
    })
}
