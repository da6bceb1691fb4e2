//! Access to variables and nested values by text: `getvar`, `get`, `defined`.

use std::sync::Arc;

use pcore::{TypeKind, Value};

use crate::Evaluator;
use crate::error::{EvalResult, EvalUnwind, raise};
use crate::fact_reads::FACTS;
use crate::function::{
    CallArguments, FunctionDispatch, FunctionSpec, NativeFunction, one, optional, some,
};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "get",
        &[FunctionDispatch::new(
            &[
                one("Any", "value"),
                one("String", "dotted_string"),
                optional("Any", "default_value"),
            ],
            get,
        )
        .with_optional_block("Callable[1,1]")],
    ),
    FunctionSpec::new(
        "getvar",
        &[
            FunctionDispatch::new(
                &[
                    one(
                        "Pattern[/\\A(?:::)?(?:[a-z]\\w*::)*[a-z_]\\w*(?:\\.|\\Z)/]",
                        "get_string",
                    ),
                    optional("Any", "default_value"),
                ],
                getvar,
            )
            .with_optional_block("Callable[1,1]"),
            FunctionDispatch::mismatch(
                &[
                    one("String", "get_string"),
                    optional("Any", "default_value"),
                ],
                |_| "The given string does not start with a valid variable name".to_owned(),
            ),
        ],
    ),
    FunctionSpec::new(
        "defined",
        &[FunctionDispatch::new(
            &[some(
                "Variant[String, Type[CatalogEntry], Type[Type[CatalogEntry]]]",
                "vals",
            )],
            defined,
        )],
    ),
];

fn get(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let path = call.text(1);
    navigate(evaluator, &call, call.get(0), &path, call.get(2))
}

fn getvar(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    let end = text
        .find(|it: char| !(it.is_alphanumeric() || it == '_' || it == ':'))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = match rest.strip_prefix('.') {
        Some(path) => path,
        None if rest.is_empty() => "",
        None => {
            return raise(format!(
                "First character after var name in get string must be a '.' - got {}",
                rest.chars().next().unwrap_or_default()
            ));
        }
    };
    if let Some(value) = fact_of_path(evaluator, name, path) {
        return match value {
            Value::Undef => Ok(call.get(1).clone()),
            value => Ok(value),
        };
    }
    match evaluator.lookup_variable(call.cx, name) {
        Some(value) => {
            let value = value?;
            navigate(evaluator, &call, &value, path, call.get(1))
        }
        None => Ok(call.get(1).clone()),
    }
}

/// The value of `facts.a.b`, of which only that part counts as read; `None` for another variable, and for a
/// path that is not one of names in hashes.
fn fact_of_path(evaluator: &Evaluator<'_>, name: &str, path: &str) -> Option<Value> {
    if name.trim_start_matches("::") != FACTS || path.is_empty() {
        return None;
    }
    evaluator.whole_fact_at(&names_of_path(path)?)
}

/// A dotted path as names; `None` if a part of it is an index.
pub(crate) fn names_of_path(path: &str) -> Option<Vec<Arc<str>>> {
    let segments = segments(path).ok()?.into_iter();
    let names = segments.map(|segment| match segment {
        Value::Str(name) => Some(name),
        _ => None,
    });
    names.collect()
}

/// Follows a dotted path into a value; returns `default` if something on it does not exist.
fn navigate(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    value: &Value,
    path: &str,
    default: &Value,
) -> EvalResult {
    if value.is_undef() {
        return Ok(default.clone());
    }
    if path.is_empty() {
        return Ok(value.clone());
    }
    let mut arguments = segments(path)?;
    arguments.insert(0, value.clone());
    let dig = NativeFunction::core("dig");
    match evaluator.call_named(call.cx, call.at, dig, "dig", arguments, None) {
        Ok(Value::Undef) => Ok(default.clone()),
        Ok(found) => Ok(found),
        Err(unwind) => match (call.block, &*unwind) {
            (Some(block), EvalUnwind::Error(error)) if error.payload.is_some() => {
                let payload = error.payload.clone().unwrap_or_default();
                evaluator.call_block(block, [payload])
            }
            _ => Err(unwind),
        },
    }
}

/// Splits a path such as `a.0.'b.c'` into keys; whole numbers are indices.
pub(crate) fn segments(path: &str) -> EvalResult<Vec<Value>> {
    let mut segments = Vec::new();
    let mut rest = path;
    loop {
        let (segment, after) = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => match rest[1..].split_once(quote) {
                Some((segment, after)) => (Value::from(segment), after),
                None => return raise("Syntax error in dotted-navigation string"),
            },
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                let (segment, after) = rest.split_at(end);
                if segment.is_empty() || segment.contains(['\'', '"']) {
                    return raise("Syntax error in dotted-navigation string");
                }
                let key = match segment.parse::<i64>() {
                    Ok(index) => Value::Int(index),
                    Err(_) => Value::from(segment.trim()),
                };
                (key, after)
            }
        };
        segments.push(segment);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(segments),
            None => return raise("Syntax error in dotted-navigation string"),
        }
    }
}

fn defined(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    for value in &call.arguments {
        if is_defined(evaluator, &call, value)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// Returns true if a name is defined. Classes and resources are looked up by the host.
fn is_defined(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    value: &Value,
) -> EvalResult<bool> {
    match value {
        Value::Str(text) => match text.strip_prefix('$') {
            Some(name) if !name.is_empty() => {
                Ok(evaluator.lookup_variable(call.cx, name).is_some())
            }
            _ => is_defined_in_host(evaluator, value),
        },
        Value::Type(ty) => match ty.kind() {
            TypeKind::Resource {
                type_name: None, ..
            } => raise("The given resource type is a reference to all kind of types"),
            TypeKind::Class(None) => raise("The given class type is a reference to all classes"),
            _ => is_defined_in_host(evaluator, value),
        },
        _ => Ok(false),
    }
}

fn is_defined_in_host(evaluator: &mut Evaluator<'_>, value: &Value) -> EvalResult<bool> {
    let host = evaluator.host();
    match host.catalog() {
        Some(catalog) => catalog.is_defined(evaluator, value),
        None => Ok(host.is_defined(value)),
    }
}
