//! Booleans, regexes, URIs, sensitive values and types from their arguments.

use super::ConversionError;
use super::constructor::{ConstructorParameters, ValueConstructor, general_refusal, struct_type};
use crate::types::{EnumType, IntRange, Type, TypeKind};
use crate::value::{Hash, Regexp, Uri, Value};

pub(super) fn boolean() -> ValueConstructor {
    let words = ["false", "true", "yes", "no", "y", "n"].map(Into::into);
    let from = Type::variant_of(vec![
        Type::integer(),
        Type::float(),
        Type::boolean(),
        TypeKind::Enum(EnumType::new(words, true)).into(),
    ]);
    ValueConstructor::new("new_boolean")
        .with_signature(ConstructorParameters::one("from", from), |arguments| {
            Ok(Value::Bool(match arguments.first() {
                Some(Value::Float(number)) => *number != 0.0,
                Some(Value::Int(number)) => *number != 0,
                Some(Value::Bool(flag)) => *flag,
                Some(Value::Str(text)) => {
                    !matches!(text.to_lowercase().as_str(), "false" | "no" | "n")
                }
                _ => true,
            }))
        })
        .with_refusal(
            ConstructorParameters::one("from", Type::any()),
            |arguments| match arguments.first() {
                Some(Value::Str(text)) => ConversionError::Text {
                    text: text.to_string(),
                    to: "Boolean",
                },
                from => ConversionError::Value {
                    from: general_refusal(from.unwrap_or(&Value::Undef)),
                    to: "Boolean",
                },
            },
        )
}

pub(super) fn regexp() -> ValueConstructor {
    // Puppet's copy of the constructor of floats has kept its name
    ValueConstructor::new("new_float").with_signature(
        ConstructorParameters::one("pattern", Type::string())
            .with_optional("escape", Type::boolean()),
        |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            let source = match arguments.get(1) {
                Some(Value::Bool(true)) => escape(text),
                _ => text.to_owned(),
            };
            Regexp::compile(&source)
                .map(Value::Regexp)
                .map_err(|error| ConversionError::Regexp(error.to_string()))
        },
    )
}

/// Ruby's `Regexp.escape`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            ' ' | '[' | ']' | '{' | '}' | '(' | ')' | '|' | '-' | '*' | '.' | '\\' | '?' | '+'
            | '^' | '$' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

pub(super) fn uri() -> ValueConstructor {
    let text = Type::non_empty_string();
    let port = Type::integer_in(IntRange::ANY_SIZE);
    let hash = struct_type(
        &[],
        &[
            ("scheme", text.clone()),
            ("userinfo", text.clone()),
            ("host", text.clone()),
            ("port", port),
            ("path", text.clone()),
            ("query", text.clone()),
            ("fragment", text.clone()),
            ("opaque", text.clone()),
        ],
    );
    // the name of Puppet's constructor
    ValueConstructor::new("new_error")
        .with_signature(ConstructorParameters::one("uri", text), |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            Ok(Value::Uri(Uri::parse(text)?.into()))
        })
        .with_signature(ConstructorParameters::one("hash", hash), |arguments| {
            let parts = arguments.first().and_then(Value::as_hash);
            Ok(Value::Uri(
                Uri::from_parts(parts.unwrap_or(&Hash::new()))?.into(),
            ))
        })
}

pub(super) fn sensitive() -> ValueConstructor {
    ValueConstructor::new("new_Sensitive")
        .with_signature(
            ConstructorParameters::one("value", Type::sensitive()),
            |arguments| Ok(arguments.first().cloned().unwrap_or_default()),
        )
        .with_signature(
            ConstructorParameters::one("value", Type::any()),
            |arguments| {
                let value = arguments.first().cloned().unwrap_or_default();
                Ok(Value::sensitive(value))
            },
        )
}

/// The constructor of types that accept any value and return it unchanged.
pub(super) fn identity() -> ValueConstructor {
    ValueConstructor::new("new_unit").with_signature(
        ConstructorParameters::one("from", Type::any()),
        |arguments| Ok(arguments.first().cloned().unwrap_or_default()),
    )
}

pub(super) fn type_from_text() -> ValueConstructor {
    ValueConstructor::new("new_type").with_signature(
        ConstructorParameters::one("type_string", Type::non_empty_string()),
        |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            Type::parse(text)
                .map(Value::Type)
                .map_err(|error| ConversionError::TypeText(error.to_string()))
        },
    )
}
