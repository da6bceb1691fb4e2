//! Targets that a plan creates. Main function: [`target_of`].
//!
//! Invariant: a name or alias denotes one target, and never also a group.

use std::sync::Arc;

use evaluator::EvalResult;
use pcore::{Hash, Value};

use super::targets::invalid;
use crate::host::PlanHost;
use crate::objects::PlanTarget;
use crate::run::TargetState;

/// Creates the target that a hash of attributes describes.
pub(super) fn target_of(host: &PlanHost<'_>, hash: &Hash) -> EvalResult {
    let text = |key: &str| hash.get_str(key).and_then(Value::as_str);
    let target = match (text("name"), text("uri")) {
        (Some(name), Some(uri)) => PlanTarget::named(name, uri),
        (Some(one), None) | (None, Some(one)) => PlanTarget::new(one),
        (None, None) => return Err(invalid("Target must have either a name or uri")),
    };
    let state = TargetState {
        vars: hash_of(hash, "vars"),
        facts: hash_of(hash, "facts"),
        config: hash_of(hash, "config"),
        plugin_hooks: hash_of(hash, "plugin_hooks"),
        features: texts(hash, "features").into_iter().collect(),
        aliases: hash
            .get_str("target_alias")
            .filter(|it| !it.is_undef())
            .cloned(),
        ..TargetState::default()
    };
    let aliases = texts(hash, "target_alias");
    check_names(host, &target, &aliases)?;
    let mut made = host.run.made.borrow_mut();
    made.retain(|_, known| known.name() != target.name());
    made.insert(target.name().clone(), target.clone());
    for alias in &aliases {
        made.insert(alias.clone(), target.clone());
    }
    let mut states = host.run.targets.borrow_mut();
    states.insert(target.name().clone(), state);
    Ok(Value::object(target))
}

fn hash_of(hash: &Hash, key: &str) -> Hash {
    let inner = hash.get_str(key).and_then(Value::as_hash);
    inner.cloned().unwrap_or_default()
}

fn texts(hash: &Hash, key: &str) -> Vec<Arc<str>> {
    let text = |value: &Value| match value {
        Value::Str(text) => Some(text.clone()),
        _ => None,
    };
    match hash.get_str(key) {
        Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
        Some(one) => text(one).into_iter().collect(),
        None => Vec::new(),
    }
}

fn check_names(host: &PlanHost<'_>, target: &PlanTarget, aliases: &[Arc<str>]) -> EvalResult<()> {
    let name = target.name();
    let refuse = |msg: String| Err(invalid(&msg));
    if !name.is_ascii() {
        return refuse(format!("Target name must be ASCII characters: {name}"));
    }
    if let Some(illegal) = name.chars().find(|c| c.is_ascii_whitespace() || *c == ',') {
        return refuse(format!(
            "Illegal character '{illegal}' in target name '{name}'"
        ));
    }
    let is_group = |name: &str| {
        name == "all" || host.run.groups.borrow().contains_key(name) || host.is_node_group(name)
    };
    if is_group(name) {
        return refuse(format!(
            "Target name {name} conflicts with group of the same name"
        ));
    }
    let made = host.run.made.borrow();
    for alias in aliases {
        if is_group(alias) {
            return refuse(format!(
                "Alias {alias} conflicts with group of the same name"
            ));
        }
        match made.get(alias) {
            Some(other) if other.name() == name => {}
            Some(other) if other.name() == alias => {
                return refuse(format!(
                    "Alias {alias} conflicts with target of the same name"
                ));
            }
            Some(other) => {
                let other = other.name();
                return refuse(format!(
                    "Alias {alias} refers to multiple targets: {other} and {name}"
                ));
            }
            None => {}
        }
    }
    Ok(())
}
