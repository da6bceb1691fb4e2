//! The state of targets that a plan sets and reads: `vars`, `set_var`, `facts`, `add_facts`,
//! `set_feature`, `set_config`.
//!
//! Invariant: the state lives as long as the plan, and all its branches share it.

use std::sync::Arc;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator};
use pcore::{Hash, Value};

use super::plan_function::PlanFunctionBody;
use super::targets;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::PlanTarget;
use crate::run::TargetState;

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "vars",
            &[FunctionDispatch::host(&[one("Target", "target")]).returning("Hash[String, Data]")],
        ),
        vars,
    ),
    (
        FunctionSpec::new(
            "set_var",
            &[FunctionDispatch::host(&[
                one("Target", "target"),
                one("String", "key"),
                one("Data", "value"),
            ])],
        ),
        set_var,
    ),
    (
        FunctionSpec::new(
            "facts",
            &[FunctionDispatch::host(&[one("Target", "target")]).returning("Hash[String, Data]")],
        ),
        facts,
    ),
    (
        FunctionSpec::new(
            "add_facts",
            &[
                FunctionDispatch::host(&[one("Target", "target"), one("Hash", "facts")])
                    .returning("Target"),
            ],
        ),
        add_facts,
    ),
    (
        FunctionSpec::new(
            "set_feature",
            &[FunctionDispatch::host(&[
                one("Target", "target"),
                one("String", "feature"),
                optional("Boolean", "value"),
            ])
            .returning("Target")],
        ),
        set_feature,
    ),
    (
        FunctionSpec::new(
            "set_config",
            &[FunctionDispatch::host(&[
                one("Target", "target"),
                one("Variant[String, Array[String]]", "key_or_key_path"),
                one("Any", "value"),
            ])
            .returning("Target")],
        ),
        set_config,
    ),
];

/// Returns an attribute of a target that the plan can change; `None` if there is none of that name.
pub(super) fn attribute(host: &PlanHost<'_>, target: &PlanTarget, name: &str) -> Option<Value> {
    let states = host.run.targets.borrow();
    let nothing = TargetState::default();
    let state = states.get(target.name()).unwrap_or(&nothing);
    if states.contains_key(target.name()) {
        host.reads_shared();
    }
    Some(match name {
        "vars" => Value::hash(state.vars.clone()),
        "facts" => Value::hash(state.facts.clone()),
        "config" => Value::hash(state.config.clone()),
        "features" => Value::array(state.features.iter().cloned().map(Value::Str).collect()),
        "plugin_hooks" => Value::hash(state.plugin_hooks.clone()),
        "target_alias" => {
            let none = || Value::array(Vec::new());
            state.aliases.clone().unwrap_or_else(none)
        }
        "resources" => {
            let resources = state.resources.iter();
            let all = resources.map(|(name, it)| (&**name, Value::object(it.clone())));
            Value::hash(all.collect())
        }
        _ => return None,
    })
}

fn change(
    host: &PlanHost<'_>,
    target: &Value,
    change: impl FnOnce(&mut TargetState),
) -> EvalResult {
    let Some(name) = target
        .downcast_object::<PlanTarget>()
        .map(|it| it.name().clone())
    else {
        return Err(failure::invalid_value_error(format!(
            "{target} is no Target"
        )));
    };
    change(host.run.targets.borrow_mut().entry(name).or_default());
    Ok(target.clone())
}

/// Changes the state of a target.
pub(super) fn change_of(
    host: &PlanHost<'_>,
    target: &PlanTarget,
    change: impl FnOnce(&mut TargetState),
) {
    let mut states = host.run.targets.borrow_mut();
    change(states.entry(Arc::clone(target.name())).or_default());
}

/// Returns the single target of a call.
fn only(host: &PlanHost<'_>, call: &CallArguments<'_>) -> EvalResult<PlanTarget> {
    let found = targets::of(host, &call.location(), call.get(0))?;
    <[PlanTarget; 1]>::try_from(found)
        .map(|[target]| target)
        .map_err(|found| {
            let msg = format!(
                "{} is asked of one target, not of {}",
                call.name,
                found.len()
            );
            failure::plain_error("bolt.inventory/validation-error", msg)
        })
}

fn vars(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let target = only(host, &call)?;
    Ok(attribute(host, &target, "vars").unwrap_or_default())
}

fn facts(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let target = only(host, &call)?;
    Ok(attribute(host, &target, "facts").unwrap_or_default())
}

fn set_var(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (key, value) = (call.text(1), call.get(2).clone());
    change(host, call.get(0), |state| {
        drop(state.vars.insert(&*key, value))
    })
}

fn add_facts(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let facts = call.hash(1);
    change(host, call.get(0), |state| merge(&mut state.facts, &facts))
}

/// Merges a hash into another, nested hashes too.
pub(super) fn merge(into: &mut Hash, more: &Hash) {
    for (key, value) in more.iter() {
        let merged = match (into.get(key), value) {
            (Some(Value::Hash(old)), Value::Hash(new)) => {
                let mut old = Hash::clone(old);
                merge(&mut old, new);
                Value::hash(old)
            }
            _ => value.clone(),
        };
        into.insert(key.clone(), merged);
    }
}

fn set_feature(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let feature = call.text(1);
    let has = call.get(2).as_bool().unwrap_or(true);
    change(host, call.get(0), |state| match has {
        true => drop(state.features.insert(feature)),
        false => drop(state.features.shift_remove(&feature)),
    })
}

fn set_config(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let path: Vec<Arc<str>> = match call.get(1) {
        Value::Array(keys) => keys.iter().map(|key| Arc::from(key.to_string())).collect(),
        key => vec![Arc::from(key.to_string())],
    };
    let value = call.get(2).clone();
    change(host, call.get(0), |state| {
        set_at(&mut state.config, &path, value)
    })
}

/// Sets the value at a path, replacing the value there.
fn set_at(config: &mut Hash, path: &[Arc<str>], value: Value) {
    match path {
        [] => *config = value.as_hash().cloned().unwrap_or_default(),
        [key] => drop(config.insert(key.clone(), value)),
        [key, rest @ ..] => {
            let inner = config.get_str(key).and_then(Value::as_hash).cloned();
            let mut inner = inner.unwrap_or_default();
            set_at(&mut inner, rest, value);
            config.insert(key.clone(), Value::hash(inner));
        }
    }
}
