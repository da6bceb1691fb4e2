//! Instance check: [`Type::is_instance`].
//!
//! Invariant: for an alias that leads only back to itself for the same value, the result is false.

use super::matching::matches;
use super::recursion_trail::TypeCheckTrail;
use super::strings::{char_count, matches_any};
use crate::convert;
use crate::types::{InitType, StringType, StructElement, TupleType, Type, TypeKind};
use crate::value::{Hash, PuppetObject, Uri, Value};

impl Type {
    /// True if the value is an instance of the type.
    #[must_use]
    pub fn is_instance(&self, value: &Value) -> bool {
        self.is_instance_within(value, &mut TypeCheckTrail::new())
    }

    /// Like [`Self::is_instance`], as a part of the check of another type.
    pub(super) fn is_instance_within(&self, value: &Value, trail: &mut TypeCheckTrail<'_>) -> bool {
        if trail.is_too_deep() || value.is_unknown() {
            return true;
        }
        match self.kind() {
            TypeKind::Alias(_) => really(self, value, trail) == InstanceAnswer::Yes,
            TypeKind::Variant(types) => types
                .iter()
                .any(|one| one.is_instance_within(value, &mut trail.descend())),
            TypeKind::Optional(inner) => {
                value.is_undef()
                    || inner
                        .as_ref()
                        .is_some_and(|inner| inner.is_instance_within(value, &mut trail.descend()))
            }
            TypeKind::NotUndef(inner) => {
                !value.is_undef()
                    && inner
                        .as_ref()
                        .is_none_or(|inner| inner.is_instance_within(value, &mut trail.descend()))
            }
            TypeKind::Array { .. }
            | TypeKind::Hash { .. }
            | TypeKind::Tuple(_)
            | TypeKind::Struct(_)
            | TypeKind::Collection(_) => is_collection_instance(self, value, trail),
            TypeKind::Sensitive(inner) => match value {
                Value::Sensitive(value) => inner.is_instance_within(value, &mut trail.descend()),
                _ => false,
            },
            TypeKind::Type(inner) => match value {
                Value::Type(value) => inner
                    .as_ref()
                    .is_none_or(|inner| inner.is_assignable_within(value, &mut trail.descend())),
                _ => false,
            },
            TypeKind::Iterable(element) => is_iterable(element.as_ref(), self, value, trail),
            TypeKind::Iterator(_) | TypeKind::Callable(_) => match value {
                Value::Object(object) => {
                    self.is_assignable_within(&object.object_type(), &mut trail.descend())
                }
                _ => false,
            },
            TypeKind::Init(init) => init_answer(init, value, trail) == InstanceAnswer::Yes,
            _ => is_simple_instance(self, value),
        }
    }
}

/// Result of an instance check that may lead through recursive aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum InstanceAnswer {
    No,
    /// The check came back to a question that is still open, and to nothing else.
    Recursive,
    Yes,
}

impl From<bool> for InstanceAnswer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Result of the instance check by types other than aliases and variants.
fn really(ty: &Type, value: &Value, trail: &mut TypeCheckTrail<'_>) -> InstanceAnswer {
    if trail.is_too_deep() {
        return InstanceAnswer::No;
    }
    match ty.kind() {
        TypeKind::Alias(alias) => {
            let Some(resolved) = alias.resolved() else {
                return InstanceAnswer::No;
            };
            if !alias.is_recursive() {
                return really(resolved, value, &mut trail.descend());
            }
            trail.with_guard(|trail| {
                trail.with_that(std::ptr::from_ref(value).addr(), |trail| {
                    trail.with_this(ty.address(), |trail, recursion| {
                        if recursion.is_in_both() {
                            InstanceAnswer::Recursive
                        } else {
                            really(resolved, value, &mut trail.descend())
                        }
                    })
                })
            })
        }
        TypeKind::Variant(types) => {
            let mut best = InstanceAnswer::No;
            for one in types {
                best = best.max(really(one, value, &mut trail.descend()));
                if best == InstanceAnswer::Yes {
                    break;
                }
            }
            best
        }
        TypeKind::Init(init) => init_answer(init, value, trail),
        _ => ty.is_instance_within(value, trail).into(),
    }
}

fn is_simple_instance(ty: &Type, value: &Value) -> bool {
    match (ty.kind(), value) {
        (TypeKind::Any | TypeKind::Unit, _)
        | (TypeKind::Undef, Value::Undef)
        | (TypeKind::Default, Value::Default)
        | (TypeKind::Binary, Value::Binary(_))
        | (TypeKind::SemVerRange, Value::SemVerRange(_))
        | (TypeKind::Numeric, Value::Int(_) | Value::Float(_))
        | (
            TypeKind::Scalar,
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
        | (
            TypeKind::ScalarData,
            Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_),
        ) => true,
        (TypeKind::Integer(range), Value::Int(number)) => range.contains(*number),
        (TypeKind::Float(range), Value::Float(number)) => range.contains(*number),
        (TypeKind::Boolean(wanted), Value::Bool(flag)) => {
            wanted.is_none_or(|wanted| wanted == *flag)
        }
        (TypeKind::String(spec), Value::Str(text)) => match spec {
            StringType::Any => true,
            StringType::Size(size) => size.contains(char_count(text)),
            StringType::Value(wanted) => wanted == text,
        },
        (TypeKind::Enum(spec), Value::Str(text)) => spec.contains(text),
        (TypeKind::Pattern(patterns), Value::Str(text)) => {
            patterns.is_empty() || matches_any(patterns, text)
        }
        (TypeKind::Regexp(wanted), Value::Regexp(regexp)) => {
            wanted.as_ref().is_none_or(|wanted| wanted == regexp)
        }
        (TypeKind::SemVer(ranges), Value::SemVer(version)) => {
            ranges.is_empty() || ranges.iter().any(|range| range.includes(version))
        }
        (TypeKind::Timestamp(range), Value::Timestamp(time)) => range.contains(*time),
        (TypeKind::Timespan(range), Value::Timespan(span)) => range.contains(*span),
        (TypeKind::Uri(parameters), Value::Uri(uri)) => parameters
            .as_ref()
            .and_then(Value::as_hash)
            .is_none_or(|parameters| uri_matches(uri, parameters)),
        (TypeKind::Object(wanted), Value::Object(object)) => match object.object_type().kind() {
            TypeKind::Object(given) => wanted.is_or_inherited_by(given),
            TypeKind::ObjectExtension { base, .. } => wanted.is_or_inherited_by(base),
            _ => wanted.is_root(),
        },
        // types are objects of the type system
        (TypeKind::Object(wanted), Value::Type(_)) => wanted.is_root(),
        (TypeKind::ObjectExtension { base, parameters }, Value::Object(object)) => {
            is_simple_instance(&base.clone().into(), value)
                && attributes_match(object.as_ref(), parameters)
        }
        (TypeKind::TypeSet(_), Value::Type(set)) => matches!(set.kind(), TypeKind::TypeSet(_)),
        _ => false,
    }
}

fn uri_matches(uri: &Uri, parameters: &Hash) -> bool {
    parameters.iter().all(|(name, wanted)| {
        let given = name.as_str().and_then(|name| uri.attribute(name));
        matches(&given.unwrap_or_default(), wanted)
    })
}

fn attributes_match(object: &dyn PuppetObject, parameters: &Value) -> bool {
    parameters.as_hash().is_none_or(|parameters| {
        parameters.iter().all(|(name, wanted)| {
            name.as_str()
                .and_then(|name| object.attribute(name))
                .is_some_and(|given| matches(&given, wanted))
        })
    })
}

fn is_collection_instance(ty: &Type, value: &Value, trail: &mut TypeCheckTrail<'_>) -> bool {
    match (ty.kind(), value) {
        (TypeKind::Collection(size), Value::Array(values)) => {
            size.is_none_or(|size| size.contains_len(values.len()))
        }
        (TypeKind::Collection(size), Value::Hash(entries)) => {
            size.is_none_or(|size| size.contains_len(entries.len()))
        }
        (TypeKind::Array { element, size }, Value::Array(values)) => {
            size.is_none_or(|size| size.contains_len(values.len()))
                && values
                    .iter()
                    .all(|value| element.is_instance_within(value, &mut trail.descend()))
        }
        (TypeKind::Hash { key, value, size }, Value::Hash(entries)) => {
            size.is_none_or(|size| size.contains_len(entries.len()))
                && entries
                    .keys()
                    .all(|one| key.is_instance_within(one, &mut trail.descend()))
                && entries
                    .values()
                    .all(|one| value.is_instance_within(one, &mut trail.descend()))
        }
        (TypeKind::Tuple(tuple), Value::Array(values)) => is_tuple_instance(tuple, values, trail),
        (TypeKind::Struct(elements), Value::Hash(entries)) => {
            is_struct_instance(elements, entries, trail)
        }
        _ => false,
    }
}

fn is_tuple_instance(tuple: &TupleType, values: &[Value], trail: &mut TypeCheckTrail<'_>) -> bool {
    tuple.size_range().contains_len(values.len())
        && values.iter().enumerate().all(|(index, value)| {
            tuple
                .type_at(index)
                .is_none_or(|ty| ty.is_instance_within(value, &mut trail.descend()))
        })
}

fn is_struct_instance(
    elements: &[StructElement],
    entries: &Hash,
    trail: &mut TypeCheckTrail<'_>,
) -> bool {
    let mut matched = 0;
    elements
        .iter()
        .all(|element| match entries.get_str(&element.name) {
            None => element.optional,
            Some(value) => {
                matched += 1;
                element
                    .value
                    .is_instance_within(value, &mut trail.descend())
            }
        })
        && matched == entries.len()
}

fn is_iterable(
    element: Option<&Type>,
    ty: &Type,
    value: &Value,
    trail: &mut TypeCheckTrail<'_>,
) -> bool {
    let anything = element
        .is_none_or(|element| element.is_assignable_within(&Type::any(), &mut trail.descend()));
    if !anything {
        return ty.is_assignable_within(&Type::infer(value), &mut trail.descend());
    }
    match value {
        Value::Str(_) | Value::Hash(_) | Value::Array(_) => true,
        Value::Int(number) => *number >= 0,
        Value::Object(object) => {
            matches!(object.object_type().kind(), TypeKind::Iterator(_))
                || object.elements().is_some()
        }
        Value::Type(value) => match value.unaliased().map(Type::kind) {
            Some(TypeKind::Enum(_)) => true,
            Some(TypeKind::Integer(range)) => range.is_finite(),
            _ => false,
        },
        _ => false,
    }
}

fn init_answer(init: &InitType, value: &Value, trail: &mut TypeCheckTrail<'_>) -> InstanceAnswer {
    let Some(ty) = &init.ty else {
        return really(&Type::rich_data(), value, &mut trail.unguarded());
    };
    let Ok(accepted) = convert::init_types(init) else {
        return InstanceAnswer::No;
    };
    let best = std::iter::once(ty)
        .chain(&accepted.single)
        .map(|one| really(one, value, &mut trail.descend()))
        .max()
        .unwrap_or(InstanceAnswer::No);
    if best == InstanceAnswer::Yes {
        return best;
    }
    let alone = Value::array(vec![value.clone()]);
    accepted
        .several
        .iter()
        .map(|tuple| {
            let whole = really(tuple, value, &mut trail.descend());
            if whole == InstanceAnswer::No && accepted.several_may_be_one {
                really(tuple, &alone, &mut trail.descend())
            } else {
                whole
            }
        })
        .max()
        .unwrap_or(InstanceAnswer::No)
        .max(best)
}
