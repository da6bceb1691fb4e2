//! Instance check: [`Type::is_instance`].
//!
//! Invariant: an alias that only leads back to itself about the same value says no.

use super::assignable::assignable;
use super::matching::matches;
use super::objects::is_or_inherits;
use super::strings::{char_count, matches_any};
use super::trail::Trail;
use crate::convert;
use crate::types::{InitType, Kind, StringType, StructElement, TupleType, Type};
use crate::value::{Hash, Object, Uri, Value};

impl Type {
    /// True if the value is an instance of the type.
    #[must_use]
    pub fn is_instance(&self, value: &Value) -> bool {
        is_instance(self, value, &mut Trail::new())
    }
}

/// Result of an instance check that may lead through recursive aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    No,
    /// Only what was asked already was asked again.
    Recursive,
    Yes,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

pub(super) fn is_instance(ty: &Type, value: &Value, trail: &mut Trail<'_>) -> bool {
    if trail.is_too_deep() || value.is_unknown() {
        return true;
    }
    match ty.kind() {
        Kind::Alias(_) => really(ty, value, trail) == Answer::Yes,
        Kind::Variant(types) => types
            .iter()
            .any(|one| is_instance(one, value, &mut trail.down())),
        Kind::Optional(inner) => {
            value.is_undef()
                || inner
                    .as_ref()
                    .is_some_and(|inner| is_instance(inner, value, &mut trail.down()))
        }
        Kind::NotUndef(inner) => {
            !value.is_undef()
                && inner
                    .as_ref()
                    .is_none_or(|inner| is_instance(inner, value, &mut trail.down()))
        }
        Kind::Array { .. }
        | Kind::Hash { .. }
        | Kind::Tuple(_)
        | Kind::Struct(_)
        | Kind::Collection(_) => in_collection(ty, value, trail),
        Kind::Sensitive(inner) => match value {
            Value::Sensitive(value) => is_instance(inner, value, &mut trail.down()),
            _ => false,
        },
        Kind::Type(inner) => match value {
            Value::Type(value) => inner
                .as_ref()
                .is_none_or(|inner| assignable(inner, value, &mut trail.down())),
            _ => false,
        },
        Kind::Iterable(element) => is_iterable(element.as_ref(), ty, value, trail),
        Kind::Iterator(_) | Kind::Callable(_) => match value {
            Value::Object(object) => assignable(ty, &object.object_type(), &mut trail.down()),
            _ => false,
        },
        Kind::Init(init) => init_answer(init, value, trail) == Answer::Yes,
        _ => in_simple(ty, value),
    }
}

/// Result of the instance check by types other than aliases and variants.
fn really(ty: &Type, value: &Value, trail: &mut Trail<'_>) -> Answer {
    if trail.is_too_deep() {
        return Answer::No;
    }
    match ty.kind() {
        Kind::Alias(alias) => {
            let Some(resolved) = alias.resolved() else {
                return Answer::No;
            };
            if !alias.is_recursive() {
                return really(resolved, value, &mut trail.down());
            }
            trail.guarded(|trail| {
                trail.with_that(std::ptr::from_ref(value).addr(), |trail| {
                    trail.with_this(ty.address(), |trail, recursion| {
                        if recursion.in_both() {
                            Answer::Recursive
                        } else {
                            really(resolved, value, &mut trail.down())
                        }
                    })
                })
            })
        }
        Kind::Variant(types) => {
            let mut best = Answer::No;
            for one in types {
                best = best.max(really(one, value, &mut trail.down()));
                if best == Answer::Yes {
                    break;
                }
            }
            best
        }
        Kind::Init(init) => init_answer(init, value, trail),
        _ => is_instance(ty, value, trail).into(),
    }
}

fn in_simple(ty: &Type, value: &Value) -> bool {
    match (ty.kind(), value) {
        (Kind::Any | Kind::Unit, _)
        | (Kind::Undef, Value::Undef)
        | (Kind::Default, Value::Default)
        | (Kind::Binary, Value::Binary(_))
        | (Kind::SemVerRange, Value::SemVerRange(_))
        | (Kind::Numeric, Value::Int(_) | Value::Float(_))
        | (
            Kind::Scalar,
            Value::Str(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Regexp(_)
            | Value::SemVer(_)
            | Value::SemVerRange(_)
            | Value::Timestamp(_)
            | Value::Timespan(_),
        )
        | (Kind::ScalarData, Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_)) => {
            true
        }
        (Kind::Integer(range), Value::Int(number)) => range.contains(*number),
        (Kind::Float(range), Value::Float(number)) => range.contains(*number),
        (Kind::Boolean(wanted), Value::Bool(flag)) => wanted.is_none_or(|wanted| wanted == *flag),
        (Kind::String(spec), Value::Str(text)) => match spec {
            StringType::Any => true,
            StringType::Size(size) => size.contains(char_count(text)),
            StringType::Value(wanted) => wanted == text,
        },
        (Kind::Enum(spec), Value::Str(text)) => spec.contains(text),
        (Kind::Pattern(patterns), Value::Str(text)) => {
            patterns.is_empty() || matches_any(patterns, text)
        }
        (Kind::Regexp(wanted), Value::Regexp(regexp)) => {
            wanted.as_ref().is_none_or(|wanted| wanted == regexp)
        }
        (Kind::SemVer(ranges), Value::SemVer(version)) => {
            ranges.is_empty() || ranges.iter().any(|range| range.includes(version))
        }
        (Kind::Timestamp(range), Value::Timestamp(time)) => range.contains(*time),
        (Kind::Timespan(range), Value::Timespan(span)) => range.contains(*span),
        (Kind::Uri(parameters), Value::Uri(uri)) => parameters
            .as_ref()
            .and_then(Value::as_hash)
            .is_none_or(|parameters| uri_matches(uri, parameters)),
        (Kind::Object(wanted), Value::Object(object)) => match object.object_type().kind() {
            Kind::Object(given) => is_or_inherits(wanted, given),
            Kind::ObjectExtension { base, .. } => is_or_inherits(wanted, base),
            _ => wanted.is_root(),
        },
        // types are objects of the type system
        (Kind::Object(wanted), Value::Type(_)) => wanted.is_root(),
        (Kind::ObjectExtension { base, parameters }, Value::Object(object)) => {
            in_simple(&base.clone().into(), value) && attributes_match(object.as_ref(), parameters)
        }
        (Kind::TypeSet(_), Value::Type(set)) => matches!(set.kind(), Kind::TypeSet(_)),
        _ => false,
    }
}

fn uri_matches(uri: &Uri, parameters: &Hash) -> bool {
    parameters.iter().all(|(name, wanted)| {
        let given = name.as_str().and_then(|name| uri.attribute(name));
        matches(&given.unwrap_or_default(), wanted)
    })
}

fn attributes_match(object: &dyn Object, parameters: &Value) -> bool {
    parameters.as_hash().is_none_or(|parameters| {
        parameters.iter().all(|(name, wanted)| {
            name.as_str()
                .and_then(|name| object.attribute(name))
                .is_some_and(|given| matches(&given, wanted))
        })
    })
}

fn in_collection(ty: &Type, value: &Value, trail: &mut Trail<'_>) -> bool {
    match (ty.kind(), value) {
        (Kind::Collection(size), Value::Array(values)) => {
            size.is_none_or(|size| size.contains_len(values.len()))
        }
        (Kind::Collection(size), Value::Hash(entries)) => {
            size.is_none_or(|size| size.contains_len(entries.len()))
        }
        (Kind::Array { element, size }, Value::Array(values)) => {
            size.is_none_or(|size| size.contains_len(values.len()))
                && values
                    .iter()
                    .all(|value| is_instance(element, value, &mut trail.down()))
        }
        (Kind::Hash { key, value, size }, Value::Hash(entries)) => {
            size.is_none_or(|size| size.contains_len(entries.len()))
                && entries
                    .keys()
                    .all(|one| is_instance(key, one, &mut trail.down()))
                && entries
                    .values()
                    .all(|one| is_instance(value, one, &mut trail.down()))
        }
        (Kind::Tuple(tuple), Value::Array(values)) => in_tuple(tuple, values, trail),
        (Kind::Struct(elements), Value::Hash(entries)) => in_struct(elements, entries, trail),
        _ => false,
    }
}

fn in_tuple(tuple: &TupleType, values: &[Value], trail: &mut Trail<'_>) -> bool {
    tuple.size_range().contains_len(values.len())
        && values.iter().enumerate().all(|(index, value)| {
            tuple
                .type_at(index)
                .is_none_or(|ty| is_instance(ty, value, &mut trail.down()))
        })
}

fn in_struct(elements: &[StructElement], entries: &Hash, trail: &mut Trail<'_>) -> bool {
    let mut matched = 0;
    elements
        .iter()
        .all(|element| match entries.get_str(&element.name) {
            None => element.optional,
            Some(value) => {
                matched += 1;
                is_instance(&element.value, value, &mut trail.down())
            }
        })
        && matched == entries.len()
}

fn is_iterable(element: Option<&Type>, ty: &Type, value: &Value, trail: &mut Trail<'_>) -> bool {
    let anything =
        element.is_none_or(|element| assignable(element, &Type::any(), &mut trail.down()));
    if !anything {
        return assignable(ty, &Type::infer(value), &mut trail.down());
    }
    match value {
        Value::Str(_) | Value::Hash(_) | Value::Array(_) => true,
        Value::Int(number) => *number >= 0,
        Value::Object(object) => {
            matches!(object.object_type().kind(), Kind::Iterator(_)) || object.elements().is_some()
        }
        Value::Type(value) => match value.unaliased().map(Type::kind) {
            Some(Kind::Enum(_)) => true,
            Some(Kind::Integer(range)) => range.is_finite(),
            _ => false,
        },
        _ => false,
    }
}

fn init_answer(init: &InitType, value: &Value, trail: &mut Trail<'_>) -> Answer {
    let Some(ty) = &init.ty else {
        return really(&Type::rich_data(), value, &mut trail.unguarded());
    };
    let Ok(accepted) = convert::init_types(init) else {
        return Answer::No;
    };
    let best = std::iter::once(ty)
        .chain(&accepted.single)
        .map(|one| really(one, value, &mut trail.down()))
        .max()
        .unwrap_or(Answer::No);
    if best == Answer::Yes {
        return best;
    }
    let alone = Value::array(vec![value.clone()]);
    accepted
        .several
        .iter()
        .map(|tuple| {
            let whole = really(tuple, value, &mut trail.down());
            if whole == Answer::No && accepted.several_may_be_one {
                really(tuple, &alone, &mut trail.down())
            } else {
                whole
            }
        })
        .max()
        .unwrap_or(Answer::No)
        .max(best)
}
