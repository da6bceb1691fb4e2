//! Types with other types, texts or patterns as arguments.

use std::sync::Arc;

use super::arguments::{check, is_range_end, range, ruby_class, specialization, type_at};
use super::{AccessError, objects};
use crate::describe::assert_instance;
use crate::types::{
    CallableType, EnumType, InitType, IntRange, RuntimeName, RuntimeType, StringType,
    StructElement, TupleType, Type, TypeKind,
};
use crate::value::{Regexp, SemVerRange, Uri, Value};

fn is_type(value: &Value) -> bool {
    matches!(value, Value::Type(_))
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::Str(_))
}

pub(super) fn parameterize_composed(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    match ty.kind() {
        TypeKind::Boolean(_) => {
            let is_flag = |value: &Value| matches!(value, Value::Bool(_));
            check(ty, arguments, Some(1), is_flag, "TrueClass or FalseClass")?;
            Ok(TypeKind::Boolean(arguments.first().and_then(Value::as_bool)).into())
        }
        TypeKind::Enum(_) => enumeration(ty, arguments),
        TypeKind::Pattern(_) => pattern(ty, arguments),
        TypeKind::Regexp(_) => regexp(ty, arguments),
        TypeKind::SemVer(_) => semver(ty, arguments),
        TypeKind::Runtime(_) => runtime(ty, arguments),
        TypeKind::Uri(_) => uri(arguments),
        TypeKind::Variant(_) => {
            check(ty, arguments, None, is_type, "Any-Type")?;
            Ok(Type::variant(arguments.iter().map(type_of).collect()))
        }
        TypeKind::Tuple(_) => tuple(ty, arguments),
        TypeKind::Optional(_) => match arguments {
            [Value::Str(text)] => Ok(Type::optional_of(Type::string_value(text.clone()))),
            _ => one(arguments, "Optional-Type").map(Type::optional_of),
        },
        TypeKind::NotUndef(_) => parameterize_not_undef(arguments),
        TypeKind::Type(_) => one(arguments, "Type-Type").map(Type::type_of),
        TypeKind::Sensitive(_) => one(arguments, "Sensitive-Type")
            .map(|inner| TypeKind::Sensitive(inner.generalize()).into()),
        TypeKind::Iterable(_) => one(arguments, "Iterable-Type").map(Type::iterable_of),
        TypeKind::Iterator(_) => one(arguments, "Iterator-Type").map(Type::iterator_of),
        TypeKind::Object(object) => objects::object(object, arguments),
        _ => objects::type_set(arguments),
    }
}

fn one(arguments: &[Value], base: &str) -> Result<Type, AccessError> {
    match arguments.len() {
        1 => type_at(base, arguments, 0).cloned(),
        given => Err(AccessError::arity(base, 1, Some(1), given)),
    }
}

/// The type that an argument stands for: a type, a class of the runtime, or the type of a value.
pub(super) fn type_of(value: &Value) -> Type {
    match value {
        Value::Type(ty) => ty.clone(),
        Value::Str(name) => TypeKind::Runtime(RuntimeType {
            runtime: Some("ruby".into()),
            name: Some(RuntimeName::Name(name.clone())),
        })
        .into(),
        other => Type::infer(other).generalize(),
    }
}

fn enumeration(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let (texts, ignore_case) = match arguments.split_last() {
        Some((Value::Bool(flag), texts)) => (texts, *flag),
        _ => (arguments, false),
    };
    check(ty, texts, None, is_text, "String")?;
    let values = texts.iter().filter_map(Value::as_str).map(Arc::from);
    Ok(TypeKind::Enum(EnumType::new(values, ignore_case)).into())
}

fn pattern(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let is_pattern = |value: &Value| match value {
        Value::Str(_) | Value::Regexp(_) => true,
        Value::Type(ty) => matches!(ty.kind(), TypeKind::Pattern(_) | TypeKind::Regexp(_)),
        _ => false,
    };
    let expected = "String or Regexp or Pattern-Type or Regexp-Type";
    check(ty, arguments, None, is_pattern, expected)?;
    let mut patterns: Vec<Regexp> = Vec::new();
    for argument in arguments {
        let more = match argument {
            Value::Str(text) => vec![compile_pattern(text)?],
            Value::Regexp(regexp) => vec![regexp.clone()],
            Value::Type(ty) => match ty.kind() {
                TypeKind::Pattern(patterns) => patterns.clone(),
                TypeKind::Regexp(pattern) => {
                    vec![pattern.clone().unwrap_or_else(|| Regexp::new(""))]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        for regexp in more {
            if !patterns.contains(&regexp) {
                patterns.push(regexp);
            }
        }
    }
    Ok(Type::pattern(patterns))
}

fn compile_pattern(source: &str) -> Result<Regexp, AccessError> {
    Regexp::compile(source).map_err(|error| AccessError::plain(error.to_string()))
}

fn regexp(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let is_regexp = |value: &Value| matches!(value, Value::Str(_) | Value::Regexp(_));
    if arguments.len() != 1 {
        let label = super::type_label_uc(ty);
        return Err(AccessError::arity(&label, 1, Some(1), arguments.len()));
    }
    check(ty, arguments, Some(1), is_regexp, "String or Regexp")?;
    let pattern = match arguments.first() {
        Some(Value::Regexp(regexp)) => regexp.clone(),
        Some(Value::Str(text)) => Regexp::new(&**text),
        _ => return Ok(Type::regexp()),
    };
    Ok(TypeKind::Regexp(Some(pattern)).into())
}

fn semver(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let is_range = |value: &Value| matches!(value, Value::Str(_) | Value::SemVerRange(_));
    let expected = "String or SemanticPuppet::VersionRange";
    check(ty, arguments, None, is_range, expected)?;
    let ranges = arguments
        .iter()
        .filter_map(|argument| match argument {
            Value::SemVerRange(range) => Some(Ok(range.clone())),
            Value::Str(text) => Some(SemVerRange::parse(text).map(Arc::new)),
            _ => None,
        })
        .collect::<Result<_, _>>()?;
    Ok(TypeKind::SemVer(SemVerRange::merge_all(ranges)).into())
}

fn runtime(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let [Value::Str(runtime), Value::Str(name)] = arguments else {
        if arguments.len() != 2 {
            let label = super::type_label_uc(ty);
            let error = AccessError::arity(&label, 2, Some(2), arguments.len());
            // Puppet's check always names 1 as the minimum
            let message = error
                .message
                .replace("accepts 2 arguments", "accepts 1 to 2 arguments");
            return Err(AccessError { message, ..error });
        }
        let wrong = usize::from(is_text(&arguments[0]));
        return Err(specialization(
            ty,
            wrong,
            &arguments[wrong],
            "String or String",
        ));
    };
    Ok(TypeKind::Runtime(RuntimeType {
        runtime: Some(runtime.clone()),
        name: Some(RuntimeName::Name(name.clone())),
    })
    .into())
}

fn uri(arguments: &[Value]) -> Result<Type, AccessError> {
    let wrong_type = |value: &Value| {
        AccessError::new(
            "BAD_TYPE_SLICE_TYPE",
            Some(0),
            format!(
                "URI-Type[] arguments must be types. Got {}",
                ruby_class(value)
            ),
        )
    };
    match arguments {
        [Value::Str(text)] if !text.is_empty() => {
            let uri = Uri::parse(text).map_err(|error| AccessError::plain(error.to_string()))?;
            Ok(TypeKind::Uri(uri.type_parameters().map(Value::hash)).into())
        }
        [Value::Uri(uri)] => Ok(TypeKind::Uri(uri.type_parameters().map(Value::hash)).into()),
        [Value::Hash(parts)] => {
            assert_instance("URI-Type parameter", &uri_parameters(), &arguments[0])
                .map_err(|_| wrong_type(&arguments[0]))?;
            let given = Some(Value::Hash(parts.clone())).filter(|_| !parts.is_empty());
            Ok(TypeKind::Uri(given).into())
        }
        [other] => Err(wrong_type(other)),
        _ => Err(AccessError::arity("URI-Type", 1, Some(1), arguments.len())),
    }
}

/// The type of the hash that `URI[..]` accepts.
fn uri_parameters() -> Type {
    let pattern_types = [
        Type::any_pattern(),
        Type::any_enum(),
        Type::not_undef(),
        Type::undef(),
    ];
    let mut text = vec![Type::non_empty_string(), Type::regexp()];
    text.extend(pattern_types.map(Type::type_of));
    let port = vec![
        Type::integer_in(IntRange::ANY_SIZE),
        Type::type_of(Type::not_undef()),
        Type::type_of(Type::undef()),
    ];
    let element = |name: &str, types: &[Type]| {
        StructElement::new(
            name,
            true,
            Type::optional_of(Type::variant_of(types.to_vec())),
        )
    };
    let mut elements: Vec<StructElement> = [
        "scheme", "userinfo", "host", "path", "query", "fragment", "opaque",
    ]
    .iter()
    .map(|name| element(name, &text))
    .collect();
    elements.push(element("port", &port));
    Type::struct_of(elements)
}

fn tuple(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let (types, size) = split_range(arguments)?;
    check(ty, types, None, is_type, "Any-Type")?;
    Ok(Type::tuple_of(types.iter().map(type_of).collect(), size))
}

/// Splits the arguments into those before a trailing range, and the range.
fn split_range(arguments: &[Value]) -> Result<(&[Value], Option<IntRange>), AccessError> {
    let from_end = |place: usize| {
        let index = arguments.len().checked_sub(place)?;
        arguments.get(index)
    };
    let (last, before) = (from_end(1), from_end(2));
    if is_range_end(before) && is_range_end(last) {
        let types = &arguments[..arguments.len() - 2];
        return Ok((types, Some(range(before, last)?)));
    }
    if is_range_end(last) {
        let types = &arguments[..arguments.len() - 1];
        return Ok((types, Some(range(last, None)?)));
    }
    Ok((arguments, None))
}

fn parameterize_not_undef(arguments: &[Value]) -> Result<Type, AccessError> {
    match arguments {
        [] => Ok(Type::not_undef()),
        [Value::Str(text)] => Ok(Type::not_undef_of(Type::string_value(text.clone()))),
        [Value::Type(ty)] => Ok(Type::not_undef_of(ty.clone())),
        [other] => Err(AccessError::new(
            "BAD_NOT_UNDEF_SLICE_TYPE",
            Some(0),
            format!(
                "NotUndef-Type[] argument must be a Type or a String. Got {}",
                ruby_class(other)
            ),
        )),
        _ => Err(AccessError::arity(
            "NotUndef-Type",
            0,
            Some(1),
            arguments.len(),
        )),
    }
}

pub(super) fn init(arguments: &[Value]) -> Result<Type, AccessError> {
    let ty = type_at("Init-Type", arguments, 0)?.clone();
    Ok(TypeKind::Init(InitType {
        ty: Some(ty),
        arguments: arguments[1..].to_vec(),
    })
    .into())
}

pub(super) fn callable(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let (parameters, returns) = match arguments {
        [Value::Array(parameters), returns] => {
            if !is_type(returns) {
                return Err(specialization(ty, 1, returns, "Any-Type"));
            }
            (parameters.as_slice(), Some(type_of(returns)))
        }
        [Value::Array(_), ..] => {
            let label = super::type_label_uc(ty);
            return Err(AccessError::arity(&label, 2, Some(2), arguments.len()));
        }
        _ => (arguments, None),
    };
    let (parameters, block) = match parameters.split_last() {
        Some((Value::Type(last), rest)) if last.is_callable(true) => (rest, Some(last.clone())),
        _ => (parameters, None),
    };
    let (types, size) = split_range(parameters)?;
    let mut types: Vec<Type> = types.iter().map(type_of).collect();
    if types.is_empty() && size.is_some_and(|size| size.to.is_none_or(|to| to > 0)) {
        types.push(Type::unit());
    }
    // a Callable without parameters accepts no arguments
    let tuple = TupleType::new(types, size);
    Ok(Type::callable_of(CallableType::new(
        Some(tuple),
        block,
        returns,
    )))
}

pub(super) fn structure(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    let is_hash = |value: &Value| matches!(value, Value::Hash(_));
    check(ty, arguments, Some(1), is_hash, "Hash")?;
    let Some(Value::Hash(entries)) = arguments.first() else {
        return Ok(Type::any_struct());
    };
    let elements = entries
        .iter()
        .map(|(key, value)| struct_element(key, type_of(value)))
        .collect::<Result<_, _>>()?;
    Ok(Type::struct_of(elements))
}

fn struct_element(key: &Value, value: Type) -> Result<StructElement, AccessError> {
    let inner = match key {
        Value::Str(name) if name.is_empty() => {
            return Err(AccessError::plain(
                "Struct element key cannot be an empty String",
            ));
        }
        Value::Str(name) => {
            let optional = value.accepts_undef();
            return Ok(StructElement::new(name.clone(), optional, value));
        }
        Value::Type(ty) => match ty.kind() {
            TypeKind::NotUndef(inner) => Some((inner.clone(), false)),
            TypeKind::Optional(inner) => Some((inner.clone(), true)),
            TypeKind::String(_) => Some((Some(ty.clone()), false)),
            TypeKind::Enum(texts) => {
                let only = match texts.values() {
                    [only] => Some(Type::string_value(only.clone())),
                    _ => None,
                };
                Some((only, false))
            }
            _ => None,
        },
        _ => None,
    };
    let Some((inner, optional)) = inner else {
        return Err(AccessError::plain(format!(
            "Illegal Struct member key type. Expected NotUndef, Optional, String, or Enum. Got: {}",
            ruby_class(key)
        )));
    };
    match inner.as_ref().map(Type::kind) {
        Some(TypeKind::String(StringType::Value(name))) => {
            Ok(StructElement::new(name.clone(), optional, value))
        }
        _ => Err(AccessError::plain(format!(
            "Unable to extract a non-empty literal string from Struct member key type {key}"
        ))),
    }
}
