//! Labels of type arguments in messages, and checks shared by many types.

use super::{AccessError, type_label};
use crate::types::{IntRange, Type, TypeKind};
use crate::value::Value;
use syntax::ast::labels::with_article;

/// The arguments with nested lists flattened.
pub(super) fn flatten(arguments: &[Value]) -> Vec<Value> {
    let mut flat = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            Value::Array(values) => flat.extend(flatten(values)),
            other => flat.push(other.clone()),
        }
    }
    flat
}

/// The name of the Ruby class of a value, which Puppet's messages show.
#[must_use]
pub fn ruby_class(value: &Value) -> String {
    match value {
        Value::Undef => "NilClass".to_owned(),
        Value::Default => "Symbol".to_owned(),
        Value::Bool(true) => "TrueClass".to_owned(),
        Value::Bool(false) => "FalseClass".to_owned(),
        Value::Int(_) => "Integer".to_owned(),
        Value::Float(_) => "Float".to_owned(),
        Value::Str(_) => "String".to_owned(),
        Value::Array(_) => "Array".to_owned(),
        Value::Hash(_) => "Hash".to_owned(),
        Value::Regexp(_) => "Regexp".to_owned(),
        Value::Sensitive(_) => "Puppet::Pops::Types::PSensitiveType::Sensitive".to_owned(),
        Value::Binary(_) => "Puppet::Pops::Types::PBinaryType::Binary".to_owned(),
        Value::SemVer(_) => "SemanticPuppet::Version".to_owned(),
        Value::SemVerRange(_) => "SemanticPuppet::VersionRange".to_owned(),
        Value::Timestamp(_) => "Puppet::Pops::Time::Timestamp".to_owned(),
        Value::Timespan(_) => "Puppet::Pops::Time::Timespan".to_owned(),
        Value::Uri(_) => "URI::Generic".to_owned(),
        Value::Type(ty) => format!("Puppet::Pops::Types::P{}Type", ty.word()),
        Value::Object(object) => object.object_type().name(),
    }
}

/// The class as labels show it; types without their Ruby module.
fn class_label(value: &Value) -> String {
    match value {
        Value::Type(ty) => format!("{}-Type", ty.word()),
        other => ruby_class(other),
    }
}

/// The general type of a value that cannot be used as an argument.
pub(super) fn key_type_name(value: &Value) -> String {
    match value {
        Value::Undef => "Undef".to_owned(),
        Value::Default => "Default".to_owned(),
        other => Type::infer(other).generalize().to_string(),
    }
}

/// Checks the number of arguments and the type of each.
pub(super) fn check(
    ty: &Type,
    arguments: &[Value],
    max: Option<usize>,
    is_right: impl Fn(&Value) -> bool,
    expected: &str,
) -> Result<(), AccessError> {
    let least = max.unwrap_or(1).min(1);
    if arguments.len() < least || max.is_some_and(|max| arguments.len() > max) {
        return Err(AccessError::arity(
            &super::type_label_uc(ty),
            1,
            max,
            arguments.len(),
        ));
    }
    match arguments.iter().position(|argument| !is_right(argument)) {
        Some(index) => Err(specialization(ty, index, &arguments[index], expected)),
        None => Ok(()),
    }
}

/// The error for an argument that the type does not accept.
pub(super) fn specialization(
    ty: &Type,
    index: usize,
    argument: &Value,
    expected: &str,
) -> AccessError {
    let label = with_article(&type_label(ty));
    AccessError::new(
        "BAD_TYPE_SPECIALIZATION",
        Some(index),
        format!(
            "Error creating type specialization of {label}, Cannot use {} where {expected} is expected",
            key_type_name(argument)
        ),
    )
}

/// The type at `index`; an error if the argument is not a type.
pub(super) fn type_at<'a>(
    base: &str,
    arguments: &'a [Value],
    index: usize,
) -> Result<&'a Type, AccessError> {
    match arguments.get(index) {
        Some(Value::Type(ty)) => Ok(ty),
        other => Err(AccessError::new(
            "BAD_TYPE_SLICE_TYPE",
            Some(index),
            format!(
                "{base}[] arguments must be types. Got {}",
                ruby_class(other.unwrap_or(&Value::Undef))
            ),
        )),
    }
}

/// True if an argument can be a bound of a range.
pub(super) fn is_range_end(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Int(_) | Value::Default) => true,
        Some(Value::Str(text)) => &**text == "default",
        _ => false,
    }
}

/// The range between two bounds; `default` is unbounded.
pub(super) fn range(from: Option<&Value>, to: Option<&Value>) -> Result<IntRange, AccessError> {
    let end = |value: Option<&Value>| value.and_then(Value::as_int);
    let (from, to) = (end(from), end(to));
    IntRange::new(from, to).ok_or_else(|| {
        let show = |end: Option<i64>| end.map_or_else(String::new, |end| end.to_string());
        AccessError::plain(range_order_message(&show(from), &show(to)))
    })
}

/// Puppet's message, in which the last parenthesis is missing.
pub(super) fn range_order_message(from: &str, to: &str) -> String {
    format!("'from' must be less or equal to 'to'. Got ({from}, {to}")
}

/// The size given by one or two arguments: an Integer type, or two bounds.
pub(super) fn size(arguments: &[Value], from: usize) -> Result<IntRange, AccessError> {
    let given = &arguments[from..];
    if let [Value::Type(ty)] = given
        && let TypeKind::Integer(range) = ty.kind()
    {
        return Ok(*range);
    }
    for (index, argument) in given.iter().enumerate() {
        if !matches!(argument, Value::Int(_) | Value::Default) {
            let class = with_article(&class_label(argument));
            return Err(AccessError::new(
                "BAD_COLLECTION_SLICE_TYPE",
                Some(from + index),
                format!(
                    "A Type's size constraint arguments must be a single Integer type, or 1-2 integers (or default). Got {class}"
                ),
            ));
        }
    }
    range(given.first(), given.get(1))
}
