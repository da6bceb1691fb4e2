//! `Target.new`, `Result.new`, `ResultSet.new`, `ApplyResult.new`. Main function: [`construct`].
//!
//! The rule that must hold: what a target is made with is what the plan then says of it, under its name.

use std::sync::Arc;

use evaluator::{Eval, EvalError};
use pcore::{Hash, Type, Value};

use super::targets::invalid;
use crate::host::PlanHost;
use crate::objects::{ResultSet, Target, TaskResult};
use crate::run::TargetState;
use crate::types;

/// The object that a type makes; `None`: the type is none of plans.
pub(crate) fn construct(host: &PlanHost<'_>, ty: &Type, arguments: &[Value]) -> Option<Eval> {
    Some(match () {
        () if *ty == types::target() => target(host, arguments),
        () if *ty == types::result() => result(arguments),
        () if *ty == types::result_set() => result_set(arguments),
        () if *ty == types::apply_result() => apply_result(arguments),
        () => return None,
    })
}

/// A mistake in the plan's code, which is not caught.
fn refused<T>(msg: impl Into<String>) -> Eval<T> {
    Err(EvalError::raw(msg).into())
}

fn target(host: &PlanHost<'_>, arguments: &[Value]) -> Eval {
    match arguments {
        [Value::Str(uri)] => Ok(Value::object(Target::new(uri))),
        [Value::Hash(hash)] => target_of_hash(host, hash),
        _ => refused("'new_Target' expects a uri, or a hash of what the target is"),
    }
}

const TARGET_KEYS: [&str; 10] = [
    "uri",
    "name",
    "safe_name",
    "target_alias",
    "config",
    "vars",
    "facts",
    "features",
    "plugin_hooks",
    "resources",
];

fn target_of_hash(host: &PlanHost<'_>, hash: &Hash) -> Eval {
    for key in hash.keys() {
        if !key.as_str().is_some_and(|key| TARGET_KEYS.contains(&key)) {
            let known = TARGET_KEYS.join(", ");
            return refused(format!("'new_Target' has no key '{key}'; it has {known}"));
        }
    }
    let text = |key: &str| match hash.get_str(key).filter(|value| !value.is_undef()) {
        None => Ok(None),
        Some(Value::Str(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(other) => wrong(key, "String[1]", other),
    };
    let target = match (text("name")?, text("uri")?) {
        (Some(name), Some(uri)) => Target::named(&name, &uri),
        (Some(one), None) | (None, Some(one)) => Target::new(&one),
        (None, None) => return Err(invalid("Target must have either a name or uri")),
    };
    let state = TargetState {
        vars: hash_of(hash, "vars")?,
        facts: hash_of(hash, "facts")?,
        config: hash_of(hash, "config")?,
        plugin_hooks: hash_of(hash, "plugin_hooks")?,
        features: texts(hash, "features")?.into_iter().collect(),
        aliases: texts(hash, "target_alias")?,
    };
    let mut made = host.run.made.borrow_mut();
    for alias in &state.aliases {
        made.insert(alias.clone(), target.clone());
    }
    made.insert(target.name().clone(), target.clone());
    let mut states = host.run.targets.borrow_mut();
    states.insert(target.name().clone(), state);
    Ok(Value::object(target))
}

fn wrong<T>(key: &str, expected: &str, given: &Value) -> Eval<T> {
    let given = Type::infer(given).generalize();
    refused(format!(
        "'new_Target' entry '{key}' expects a value of type {expected}, got {given}"
    ))
}

fn hash_of(hash: &Hash, key: &str) -> Eval<Hash> {
    match hash.get_str(key) {
        None | Some(Value::Undef) => Ok(Hash::new()),
        Some(Value::Hash(inner)) => Ok(Hash::clone(inner)),
        Some(other) => wrong(key, "Hash[String[1], Data]", other),
    }
}

fn texts(hash: &Hash, key: &str) -> Eval<Vec<Arc<str>>> {
    let text = |value: &Value| match value {
        Value::Str(text) => Ok(text.clone()),
        other => wrong(key, "String[1]", other),
    };
    match hash.get_str(key) {
        None | Some(Value::Undef) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(text).collect(),
        Some(one) => Ok(vec![text(one)?]),
    }
}

fn result(arguments: &[Value]) -> Eval {
    let (target, value) = match arguments {
        [target, Value::Hash(value)] => (target, Hash::clone(value)),
        [Value::Hash(hash)] => of_attributes(hash, "value"),
        [_, other] => return refused(expects("Result", "value", "a Hash", other)),
        _ => return refused(counted("Result", "2 arguments", arguments)),
    };
    let Some(target) = target.downcast_object::<Target>() else {
        return refused(expects("Result", "target", "a Target", target));
    };
    Ok(Value::object(TaskResult::constructed(
        target.clone(),
        value,
    )))
}

/// The target and the value of an object made of a hash of its attributes.
fn of_attributes<'a>(hash: &'a Hash, value: &str) -> (&'a Value, Hash) {
    let given = hash.get_str(value).and_then(Value::as_hash).cloned();
    let target = hash.get_str("target").unwrap_or(&Value::Undef);
    (target, given.unwrap_or_default())
}

fn apply_result(arguments: &[Value]) -> Eval {
    let (target, mut value) = match arguments {
        [target, Value::Hash(value)] => (target, Hash::clone(value)),
        [Value::Hash(hash)] => {
            let mut value = Hash::new();
            for (attribute, key) in [("report", "report"), ("error", "_error")] {
                if let Some(given) = hash.get_str(attribute).filter(|it| !it.is_undef()) {
                    value.insert(key, given.clone());
                }
            }
            (hash.get_str("target").unwrap_or(&Value::Undef), value)
        }
        _ => return refused(counted("ApplyResult", "2 arguments", arguments)),
    };
    let Some(target) = target.downcast_object::<Target>() else {
        return refused(expects("ApplyResult", "target", "a Target", target));
    };
    if value.get_str("report").is_none() {
        value.insert("report", Value::hash(Hash::new()));
    }
    let made = TaskResult::constructed_apply(target.clone(), value);
    Ok(Value::object(made))
}

fn result_set(arguments: &[Value]) -> Eval {
    let results = match arguments {
        [Value::Array(results)] => results,
        [other] => return refused(expects("ResultSet", "results", "an Array", other)),
        _ => return refused(counted("ResultSet", "1 argument", arguments)),
    };
    let results = results.iter().enumerate().map(|(index, value)| {
        let result = value.downcast_object::<TaskResult>().cloned();
        result.map_or_else(
            || {
                let given = Type::infer(value).generalize();
                refused(format!(
                    "'new_ResultSet' parameter 'results' index {index} expects a value of type Result or \
                     ApplyResult, got {given}"
                ))
            },
            Ok,
        )
    });
    let results = results.collect::<Eval<Vec<_>>>()?;
    Ok(Value::object(ResultSet::new(results)))
}

fn expects(ty: &str, parameter: &str, expected: &str, given: &Value) -> String {
    let given = Type::infer(given).generalize();
    format!("'new_{ty}' parameter '{parameter}' expects {expected} value, got {given}")
}

fn counted(ty: &str, expected: &str, given: &[Value]) -> String {
    format!("'new_{ty}' expects {expected}, got {}", given.len())
}
