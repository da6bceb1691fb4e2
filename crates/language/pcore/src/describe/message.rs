//! The wording of a mismatch.
//!
//! Invariant: the messages are Puppet's, blanks included.

use std::fmt;

use super::mismatch::{MismatchKind, TypeMismatchDetail};
use super::path::MismatchPathStep;
use crate::types::{IntRange, StringType, Type, TypeKind};
use syntax::ast::labels::article;

impl fmt::Display for TypeMismatchDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut path = self.path.as_slice();
        if let Some((MismatchPathStep::Signature(index), rest)) = path.split_first() {
            write!(f, " {}.", index + 1)?;
            path = rest;
        }
        for step in path {
            write!(f, " {step}")?;
        }
        match &self.kind {
            MismatchKind::MissingKey(key) => write!(f, " expects a value for key '{key}'"),
            MismatchKind::MissingParameter(name) => {
                write!(f, " expects a value for parameter '{name}'")
            }
            MismatchKind::ExtraneousKey(key) => write!(f, " unrecognized key '{key}'"),
            MismatchKind::InvalidParameter(name) => write!(f, " has no parameter named '{name}'"),
            MismatchKind::UnexpectedBlock => f.write_str(" does not expect a block"),
            MismatchKind::MissingBlock => f.write_str(" expects a block"),
            MismatchKind::Unresolved(text) => write!(f, " references an unresolved type '{text}'"),
            MismatchKind::Type { expected, actual } => f.write_str(&type_words(expected, actual)),
            MismatchKind::Pattern { expected, actual } => {
                f.write_str(&pattern_words(expected, actual))
            }
            MismatchKind::Size { expected, actual } => write!(
                f,
                " expects size to be {}, got {}",
                range_words(*expected, "0"),
                range_words(*actual, "0")
            ),
            MismatchKind::Count { expected, actual } => {
                let plural = match (expected.from.unwrap_or(0), expected.to) {
                    (1, Some(1) | None) | (0, Some(1)) => "",
                    _ => "s",
                };
                write!(
                    f,
                    " expects {} argument{plural}, got {}",
                    range_words(*expected, "no"),
                    range_words(*actual, "none")
                )
            }
        }
    }
}

fn range_words(range: IntRange, zero: &str) -> String {
    match (range.from.unwrap_or(0), range.to) {
        (0, Some(0)) => zero.to_owned(),
        (min, Some(max)) if min == max => min.to_string(),
        (0, None) => "unlimited".to_owned(),
        (0, Some(max)) => format!("at most {max}"),
        (min, None) => format!("at least {min}"),
        (min, Some(max)) => format!("between {min} and {max}"),
    }
}

fn pattern_words(expected: &Type, actual: &Type) -> String {
    let (prefix, expected) = match expected.kind() {
        TypeKind::Optional(Some(inner)) => ("an undef value or ", inner),
        _ => ("", expected),
    };
    let actual = match actual.kind() {
        TypeKind::String(StringType::Value(text)) => format!("'{text}'"),
        _ => short_name(actual),
    };
    format!(
        " expects {prefix}a match for {}, got {actual}",
        expected.to_expanded_string()
    )
}

fn type_words(expected: &Type, actual: &Type) -> String {
    let (optional, expected) = match expected.kind() {
        TypeKind::Optional(Some(inner)) => (true, inner),
        _ => (false, expected),
    };
    let (choices, is_list) = match expected.kind() {
        TypeKind::Variant(types) => (types.as_slice(), true),
        _ => (std::slice::from_ref(expected), false),
    };
    let (mut names, actual) = if is_detailed(choices, actual) {
        let names = choices.iter().map(Type::to_expanded_string).collect();
        (names, detailed_actual(choices, actual))
    } else {
        let mut names: Vec<String> = Vec::new();
        for choice in choices {
            let name = short_name(choice);
            if !is_list || !names.contains(&name) {
                names.push(name);
            }
        }
        (names, short_name(actual))
    };
    if optional {
        names.insert(0, "Undef".to_owned());
    }
    match names.as_slice() {
        [one] => format!(" expects {} {one} value, got {actual}", article(one)),
        [one, other] => format!(" expects a value of type {one} or {other}, got {actual}"),
        [several @ .., last] => format!(
            " expects a value of type {}, or {last}, got {actual}",
            several.join(", ")
        ),
        [] => format!(" expects a value of type , or , got {actual}"),
    }
}

/// The name of a type, with the name of the type that it contains.
fn short_name(ty: &Type) -> String {
    let contained = match ty.kind() {
        TypeKind::Type(inner)
        | TypeKind::NotUndef(inner)
        | TypeKind::Optional(inner)
        | TypeKind::Iterable(inner)
        | TypeKind::Iterator(inner) => inner.as_ref(),
        TypeKind::Sensitive(inner) => Some(inner),
        TypeKind::Init(init) => init.ty.as_ref(),
        _ => None,
    };
    match contained.filter(|inner| !matches!(inner.kind(), TypeKind::Any)) {
        // an object type without a name is not named here
        Some(inner) => match inner.kind() {
            TypeKind::Object(object) if object.name().is_none() => format!("{}[]", ty.name()),
            _ => format!("{}[{}]", ty.name(), inner.name()),
        },
        None => ty.name(),
    }
}

fn is_specialization(expected: &Type, actual: &Type) -> bool {
    matches!(
        (expected.kind(), actual.kind()),
        (TypeKind::Struct(_), TypeKind::Hash { .. }) | (TypeKind::Tuple(_), TypeKind::Array { .. })
    )
}

fn is_always_detailed(choices: &[Type], actual: &Type) -> bool {
    choices.iter().any(|expected| {
        std::mem::discriminant(expected.kind()) == std::mem::discriminant(actual.kind())
            || matches!(expected.kind(), TypeKind::Alias(_))
            || matches!(actual.kind(), TypeKind::Alias(_))
            || is_specialization(expected, actual)
    })
}

fn is_detailed(choices: &[Type], actual: &Type) -> bool {
    is_always_detailed(choices, actual)
        || choices.iter().any(|expected| {
            let expected = expected.unaliased().unwrap_or(expected);
            expected.bare().is_assignable(actual)
        })
}

fn detailed_actual(choices: &[Type], actual: &Type) -> String {
    let resolved: Vec<Type> = choices
        .iter()
        .map(|ty| ty.unaliased().unwrap_or(ty).clone())
        .collect();
    let general = actual.generalize();
    if is_always_detailed(&resolved, actual) || resolved.iter().any(|ty| ty.is_assignable(&general))
    {
        actual.to_expanded_string()
    } else {
        actual.simple_name()
    }
}
