//! Execution of a YAML plan. Main function: [`run`].
//!
//! Each step is a call of a plan function. Invariant: an error carries the line of its step.

use environments::{YamlAction, YamlStep};
use evaluator::{
    BUDGET_EXHAUSTED, EvalError, EvalResult, EvalUnwind, Evaluator, SourceLocation, VariableScope,
};
use pcore::{Hash, Type, Value};
use psych::YamlTreeNode;

use super::text::{evaluate, node_to_value};
use super::{YamlProgram, resources};
use crate::failure;
use crate::host::PlanHost;

/// Keys of steps that become options of the called functions.
const OPTIONS: &[(&str, &str)] = &[
    ("batch", "_batch"),
    ("catch_errors", "_catch_errors"),
    ("concurrency", "_concurrency"),
    ("env_vars", "_env_vars"),
    ("max_failures", "_max_failures"),
    ("noop", "_noop"),
    ("pause_between_batches", "_pause_between_batches"),
    ("run_as", "_run_as"),
    ("splay", "_splay"),
];

/// Runs a plan with arguments by name.
pub(crate) fn run(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    plan: &YamlProgram,
    arguments: &Hash,
) -> EvalResult {
    let scope = VariableScope::default();
    bind(plan, arguments, &scope)?;
    for step in &plan.steps {
        let outer = host.step_place.replace(Some(location_of(plan, &step.node)));
        let value = run_step(host, step, evaluator, &scope, &plan.file)
            .map_err(|unwind| with_location(unwind, plan, &step.node));
        host.step_place.replace(outer);
        let value = value?;
        if let Some(name) = &step.name {
            scope.define(name, value);
        }
    }
    match &plan.result {
        None => Ok(Value::Undef),
        Some(node) => evaluate_node(evaluator, &scope, &plan.file, node)
            .map_err(|unwind| with_location(unwind, plan, node)),
    }
}

fn bind(plan: &YamlProgram, arguments: &Hash, scope: &VariableScope) -> EvalResult<()> {
    let wrong = |what: String| EvalError::without_location(format!("{}: {what}", plan.name));
    for name in arguments.keys() {
        if !plan
            .parameters
            .iter()
            .any(|it| name.as_str() == Some(&it.name))
        {
            return Err(wrong(format!("has no parameter named '{name}'")).into());
        }
    }
    for parameter in &plan.parameters {
        let name = &parameter.name;
        let given = arguments.get_str(name).filter(|value| !value.is_undef());
        let value = match (given, &parameter.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => node_to_value(default),
            (None, None) if parameter.ty.is_instance(&Value::Undef) => Value::Undef,
            (None, None) => {
                return Err(wrong(format!("expects a value for parameter '{name}'")).into());
            }
        };
        if !parameter.ty.is_instance(&value) {
            let subject = format!("parameter '{name}'");
            let given = Type::infer_detailed(&value);
            let mismatch = pcore::describe_mismatch(&subject, &parameter.ty, &given);
            return Err(wrong(mismatch).into());
        }
        scope.define(name, value);
    }
    Ok(())
}

fn run_step(
    host: &PlanHost<'_>,
    step: &YamlStep,
    evaluator: &mut Evaluator<'_>,
    scope: &VariableScope,
    file: &str,
) -> EvalResult {
    let object = evaluate_node(evaluator, scope, file, &step.object)?;
    let function = match step.action {
        YamlAction::Eval => return Ok(object),
        YamlAction::Message => return evaluator.call_function("out::message", vec![object], None),
        YamlAction::Verbose => return evaluator.call_function("out::verbose", vec![object], None),
        YamlAction::Command => "run_command",
        YamlAction::Task => "run_task",
        YamlAction::Script => "run_script",
        YamlAction::Plan => "run_plan",
        YamlAction::Upload => "upload_file",
        YamlAction::Download => "download_file",
        YamlAction::Resources => {
            let arguments = arguments(step, evaluator, scope, file, object)?;
            return apply_resources(host, step, evaluator, &arguments);
        }
    };
    let arguments = arguments(step, evaluator, scope, file, object)?;
    evaluator.call_function(function, arguments, None)
}

fn apply_resources(
    host: &PlanHost<'_>,
    step: &YamlStep,
    evaluator: &mut Evaluator<'_>,
    arguments: &[Value],
) -> EvalResult {
    let place = host.step_place.borrow().clone().unwrap_or_default();
    match arguments {
        [object, targets, Value::Hash(options)] => {
            resources::run(host, evaluator, step, (object, targets, options), &place)
        }
        _ => Err(failure::plain_error(
            "bolt/invalid-plan",
            "a step with `resources` needs `targets`",
        )),
    }
}

fn arguments(
    step: &YamlStep,
    evaluator: &mut Evaluator<'_>,
    scope: &VariableScope,
    file: &str,
    object: Value,
) -> EvalResult<Vec<Value>> {
    let mut get = |key: &str| {
        let node = step.node.get(key);
        node.map(|node| evaluate_node(evaluator, scope, file, node))
            .transpose()
    };
    let mut options = match get("parameters")? {
        Some(Value::Hash(parameters)) => Hash::clone(&parameters),
        _ => Hash::new(),
    };
    for key in ["arguments", "pwsh_params"] {
        if let Some(value) = get(key)? {
            options.insert(key, value);
        }
    }
    for (key, option) in OPTIONS {
        if let Some(value) = get(key)? {
            options.insert(*option, value);
        }
    }
    let mut arguments = vec![object];
    arguments.extend(get("destination")?);
    arguments.extend(get("targets")?);
    if let Some(node) = &step.description {
        options.insert("_description", text(node));
    }
    arguments.push(Value::hash(options));
    Ok(arguments)
}

/// Evaluates a node. As in Bolt, a mistake in its code is an error that can be caught.
fn evaluate_node(
    evaluator: &mut Evaluator<'_>,
    scope: &VariableScope,
    file: &str,
    node: &YamlTreeNode,
) -> EvalResult {
    evaluate(evaluator, scope, file, node).map_err(|unwind| match unwind.as_ref() {
        EvalUnwind::Error(error) if error.payload.is_none() && error.code != BUDGET_EXHAUSTED => {
            let mut details = Hash::new();
            details.insert("file", file);
            details.insert("line", Value::Int(node.line.into()));
            let msg = match error.hints.is_empty() {
                true => error.message.clone(),
                false => format!("{} ({})", error.message, error.hints.join("; ")),
            };
            failure::bolt_error("bolt/evaluation-error", &msg, details)
        }
        _ => unwind,
    })
}

fn text(node: &YamlTreeNode) -> Value {
    Value::from(node_to_value(node).to_string())
}

/// Sets the error's location to the step, unless the error is located in another file.
fn with_location(
    mut unwind: Box<EvalUnwind>,
    plan: &YamlProgram,
    node: &YamlTreeNode,
) -> Box<EvalUnwind> {
    if let EvalUnwind::Error(error) = unwind.as_mut() {
        let known = error.location.as_ref().is_some_and(|place| place.line > 0);
        // Embedded code is parsed as a program of its own, so its line numbers are relative to it.
        if !known
            || error
                .location
                .as_ref()
                .is_some_and(|it| it.file.as_deref() == Some(&plan.file))
        {
            error.location = Some(location_of(plan, node));
        }
    }
    unwind
}

fn location_of(plan: &YamlProgram, node: &YamlTreeNode) -> SourceLocation {
    SourceLocation {
        file: Some(plan.file.as_str().into()),
        line: node.line,
        column: 0,
    }
}
