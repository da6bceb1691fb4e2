//! Resources of targets: `get_resources` reads them from nodes, `set_resources` and `resource` keep
//! them in the plan.
//!
//! Invariant: a resource belongs to the target under which it is stored.

use std::sync::Arc;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, EvalUnwind, Evaluator};
use jobs::{TaskPlugins, TaskPurpose};
use pcore::{TypeKind, Value};
use serde_json::{Map, json};

use super::action::PlanAction;
use super::action_options::PlanActionOptions;
use super::apply_report;
use super::plan_function::PlanFunctionBody;
use super::{target_state, targets};
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{PlanResource, PlanTarget, type_name_of};

/// The task that reads resources.
const TASK: &str = "apply_helpers::query_resources";

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "get_resources",
            &[FunctionDispatch::host(&[
                one("Boltlib::TargetSpec", "targets"),
                one(
                    "Variant[String, Type[Resource], Array[Variant[String, Type[Resource]]]]",
                    "resources",
                ),
            ])
            .returning("ResultSet")],
        ),
        get_resources,
    ),
    (
        FunctionSpec::new(
            "resource",
            &[
                FunctionDispatch::host(&[
                    one("Target", "target"),
                    one("Type[Resource]", "type"),
                    one("String[1]", "title"),
                ])
                .returning("Optional[ResourceInstance]"),
                FunctionDispatch::host(&[
                    one("Target", "target"),
                    one("String[1]", "type"),
                    one("String[1]", "title"),
                ])
                .returning("Optional[ResourceInstance]"),
            ],
        ),
        resource,
    ),
    (
        FunctionSpec::new(
            "set_resources",
            &[
                FunctionDispatch::host(&[one("Target", "target"), one("Hash", "resource")])
                    .returning("Array[ResourceInstance]"),
                FunctionDispatch::host(&[
                    one("Target", "target"),
                    one("ResourceInstance", "resource"),
                ])
                .returning("Array[ResourceInstance]"),
                FunctionDispatch::host(&[
                    one("Target", "target"),
                    one("Array[Variant[Hash, ResourceInstance]]", "resources"),
                ])
                .returning("Array[ResourceInstance]"),
            ],
        ),
        set_resources,
    ),
];

fn get_resources(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let place = call.location();
    let targets = targets::of(host, &place, call.get(0))?;
    let names = match call.get(1) {
        Value::Array(names) => names.iter().map(query_name).collect(),
        name => query_name(name).map(|name| vec![name]),
    }?;
    let options = PlanActionOptions::of_hash(host, None)?;
    let object = names.join(", ");
    let action = PlanAction {
        name: "get_resources",
        function: "get_resources",
        object: &object,
        native: None,
        task: TASK,
        purpose: TaskPurpose::Task,
        plugins: TaskPlugins::Types,
        params: Map::from_iter([("resources".to_owned(), json!(names))]),
        node_params: None,
        sensitive: Vec::new(),
        shown: json!({"resources": names}),
        convert: &|_, value| apply_report::with_own_error(value),
    };
    action.run(host, &place, targets, &options)
}

/// A type, or a reference such as `File[/etc/motd]`, as the task takes it.
fn query_name(value: &Value) -> EvalResult<String> {
    let invalid = || {
        let msg = format!("{value} is not a valid resource type or type instance name");
        failure::plain_error("bolt/get-resources", msg)
    };
    if let Value::Type(ty) = value
        && let TypeKind::Resource { title, .. } = ty.kind()
    {
        let name = type_name_of(value).ok_or_else(invalid)?;
        return Ok(match title {
            Some(title) => format!("{name}[{title}]"),
            None => name.to_string(),
        });
    }
    let text = value.as_str().ok_or_else(invalid)?;
    let (name, title) = match text.split_once('[') {
        Some((name, title)) => (name, Some(title.strip_suffix(']').ok_or_else(invalid)?)),
        None => (text, None),
    };
    type_name_of(&Value::from(name)).ok_or_else(invalid)?;
    match title {
        Some("") => Err(invalid()),
        _ => Ok(text.to_owned()),
    }
}

fn resource(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (Some(target), Some(type_name)) = (
        call.get(0).downcast_object::<PlanTarget>(),
        type_name_of(call.get(1)),
    ) else {
        return Ok(Value::Undef);
    };
    let reference = format!("{type_name}[{}]", call.text(2));
    let states = host.run.targets.borrow();
    let state = states.get(target.name());
    let found = state.and_then(|state| state.resources.get(&*reference));
    host.reads_shared();
    Ok(found.cloned().map(Value::object).unwrap_or_default())
}

fn set_resources(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let Some(target) = call.get(0).downcast_object::<PlanTarget>() else {
        return Ok(call.get(0).clone());
    };
    let given = match call.get(1) {
        Value::Array(given) => given.iter().map(|it| resource_of(target, it)).collect(),
        given => resource_of(target, given).map(|resource| vec![resource]),
    };
    let resources: Vec<PlanResource> = given?;
    target_state::change_of(host, target, |state| {
        for resource in &resources {
            let reference: Arc<str> = resource.reference().into();
            state.resources.insert(reference, resource.clone());
        }
    });
    Ok(Value::array(
        resources.into_iter().map(Value::object).collect(),
    ))
}

/// The resource of a target, from a hash or a `ResourceInstance`.
fn resource_of(target: &PlanTarget, given: &Value) -> EvalResult<PlanResource> {
    let resource = match given {
        Value::Hash(hash) => {
            let own = hash.get_str("target");
            if let Some(own) = own.and_then(|own| own.downcast_object::<PlanTarget>()) {
                check_target(target, own)?;
            }
            PlanResource::from_hash(target.clone(), hash)
        }
        given => given.downcast_object::<PlanResource>().cloned(),
    };
    let Some(resource) = resource else {
        let msg = format!("{given} is no resource: it needs a type and a title");
        return Err(failure::invalid_value_error(msg));
    };
    check_target(target, resource.target())?;
    Ok(resource)
}

fn check_target(target: &PlanTarget, own: &PlanTarget) -> Result<(), Box<EvalUnwind>> {
    if target.name() == own.name() {
        return Ok(());
    }
    let msg = format!(
        "Cannot set resource for target {} on target {}",
        own.safe_name(),
        target.safe_name()
    );
    Err(failure::invalid_value_error(msg))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_resources_are_types_and_references() {
        for good in ["User", "file", "File[/etc/motd]", "Foo::Bar[a b [c]]"] {
            assert_eq!(query_name(&Value::from(good)).unwrap(), good);
        }
        for bad in [
            "not a type",
            "not a type[hello]",
            "File[",
            "File[]",
            "",
            "a/b",
        ] {
            assert!(query_name(&Value::from(bad)).is_err(), "{bad}");
        }
    }
}
