//! Facts: `fact`, `os_version_gte`, `has_interface_with`, `has_ip_address`, `has_ip_network`.

use std::sync::Arc;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, LogLevel, raise};
use pcore::Value;

use crate::ruby::numbers::integer;

const KIND: &str = "Enum['macaddress','netmask','ipaddress','network','ip','mac']";
const ADDRESS: &str = "Stdlib::IP::Address::V4::Nosubnet";

macro_rules! interface {
    () => {
        &[
            FunctionDispatch::new(&[one("String[1]", "interface")], has_interface)
                .returning("Boolean"),
            FunctionDispatch::new(
                &[one(KIND, "kind"), one("String[1]", "value")],
                has_interface_with,
            )
            .returning("Boolean"),
        ]
    };
}

macro_rules! version {
    () => {
        &[FunctionDispatch::new(
            &[one("String[1]", "os"), one("String[1]", "version")],
            os_version_gte,
        )
        .returning("Boolean")]
    };
}

macro_rules! address {
    ($name:literal, $parameter:literal, $run:path) => {
        FunctionSpec::new(
            $name,
            &[FunctionDispatch::new(&[one(ADDRESS, $parameter)], $run).returning("Boolean")],
        )
        .with_types(&[(ADDRESS, crate::aliases::V4_NOSUBNET)])
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "fact",
        &[FunctionDispatch::new(&[one("String", "fact_name")], fact)],
    ),
    FunctionSpec::new("os_version_gte", version!()),
    FunctionSpec::new("stdlib::os_version_gte", version!()),
    FunctionSpec::new("has_interface_with", interface!()),
    FunctionSpec::new("stdlib::has_interface_with", interface!()),
    address!("has_ip_address", "ip_address", has_ip_address),
    address!("stdlib::has_ip_address", "ip_address", has_ip_address),
    address!("has_ip_network", "ip_network", has_ip_network),
    address!("stdlib::has_ip_network", "ip_network", has_ip_network),
];

/// The variable `facts`.
pub(super) fn facts(evaluator: &Evaluator<'_>) -> EvalResult {
    match evaluator.global("facts") {
        Some(facts) => Ok(facts),
        None => evaluator
            .host()
            .variable("facts")
            .unwrap_or(Ok(Value::Undef)),
    }
}

/// A fact by its path; undef if it is missing.
pub(super) fn known_fact(evaluator: &Evaluator<'_>, path: &[&str]) -> EvalResult {
    let names: Vec<Arc<str>> = path.iter().map(|name| Arc::from(*name)).collect();
    if let Some((value, walked)) = evaluator.fact_at(&names) {
        return Ok(match walked == names.len() {
            true => value,
            false => Value::Undef,
        });
    }
    let mut here = facts(evaluator)?;
    for name in path {
        let next = here.as_hash().and_then(|it| it.get_str(name)).cloned();
        match next {
            Some(next) => here = next,
            None => return Ok(Value::Undef),
        }
    }
    Ok(here)
}

/// `a."b.c".0` as names.
fn names(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        match first {
            '.' => rest = &rest[1..],
            '"' => match rest[1..].split_once('"') {
                Some((name, after)) if !name.is_empty() => {
                    names.push(name.to_owned());
                    rest = after;
                }
                _ => rest = &rest[1..],
            },
            _ => {
                let end = rest.find(['.', '"']).unwrap_or(rest.len());
                names.push(rest[..end].to_owned());
                rest = &rest[end..];
            }
        }
    }
    names
}

fn join_with_dots(names: &[String]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| {
            if name.contains('.') {
                format!("\"{name}\"")
            } else {
                name.clone()
            }
        })
        .collect();
    quoted.join(".")
}

fn fact(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let wanted = call.text(0);
    let names = names(&wanted);
    let path: Vec<Arc<str>> = names.iter().map(|name| Arc::from(name.as_str())).collect();
    if let Some((value, walked)) = evaluator.fact_at(&path)
        && walked == path.len()
    {
        return Ok(value);
    }
    let mut here = facts(evaluator)?;
    for (walked, name) in names.iter().enumerate() {
        let warn = |what: &str| {
            let text = format!(
                "fact request for {wanted} returning nil: '{}' is {what} to '{name}'",
                join_with_dots(&names[..walked])
            );
            evaluator
                .host()
                .log(LogLevel::Warning, &text, &call.location());
            Ok(Value::Undef)
        };
        here = match &here {
            Value::Undef => return Ok(Value::Undef),
            Value::Hash(entries) => entries.get_str(name).cloned().unwrap_or_default(),
            Value::Array(list) => match integer(name) {
                Some(index) => at(list, index),
                None => return warn("an array; cannot index"),
            },
            _ => return warn("not a collection; cannot walk"),
        };
    }
    Ok(here)
}

/// An element; a negative index counts from the end.
fn at(list: &[Value], index: i64) -> Value {
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index)
        .ok()
        .and_then(|index| list.get(index))
        .cloned()
        .unwrap_or_default()
}

fn os_version_gte(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    if known_fact(evaluator, &["os", "name"])? != *call.get(0) {
        return Ok(Value::Bool(false));
    }
    let actual = known_fact(evaluator, &["os", "release", "major"])?;
    let order = evaluator.call_function("versioncmp", vec![actual, call.get(1).clone()], None)?;
    Ok(Value::Bool(order.as_int() >= Some(0)))
}

fn interfaces(evaluator: &Evaluator<'_>) -> EvalResult {
    match known_fact(evaluator, &["networking", "interfaces"])? {
        found @ Value::Hash(_) => Ok(found),
        _ => raise("the fact networking.interfaces is not known here"),
    }
}

fn has_interface(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let interfaces = interfaces(evaluator)?;
    let entries = interfaces.as_hash();
    Ok(Value::Bool(
        entries.is_some_and(|it| it.contains_key(call.get(0))),
    ))
}

fn any_interface(evaluator: &Evaluator<'_>, kind: &str, value: &Value) -> EvalResult {
    let kind = match kind {
        "ipaddress" => "ip",
        "macaddress" => "mac",
        other => other,
    };
    let interfaces = interfaces(evaluator)?;
    let mut values = interfaces
        .as_hash()
        .into_iter()
        .flat_map(pcore::Hash::values);
    let found = values.any(|it| it.as_hash().and_then(|it| it.get_str(kind)) == Some(value));
    Ok(Value::Bool(found))
}

fn has_interface_with(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    any_interface(evaluator, &call.text(0), call.get(1))
}

fn has_ip_address(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    any_interface(evaluator, "ipaddress", call.get(0))
}

fn has_ip_network(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    any_interface(evaluator, "network", call.get(0))
}
