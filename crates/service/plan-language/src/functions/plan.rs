//! `run_plan`, and how a plan in either language is found and run. Main function:
//! [`run_named_plan`].
//!
//! Invariant: a called plan has its own futures, and fails with its own error.

use std::sync::Arc;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, EvaluationHost as _, Evaluator};
use pcore::{Hash, Type, TypeKind, Value};
use serde_json::json;

use super::action_options;
use super::plan_function::PlanFunctionBody;
use crate::failure;
use crate::host::PlanHost;
use crate::yaml::{self, YamlProgram};

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[(
    FunctionSpec::new(
        "run_plan",
        &[
            FunctionDispatch::host(&[one("String[1]", "plan_name"), optional("Hash", "args")]),
            FunctionDispatch::host(&[
                one("String[1]", "plan_name"),
                one("Boltlib::TargetSpec", "targets"),
                optional("Hash", "args"),
            ]),
        ],
    ),
    run_plan,
)];

fn run_plan(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    mut call: CallArguments<'_>,
) -> EvalResult {
    let (name, place) = (call.text(0), call.location());
    let given = match call.get(1) {
        Value::Hash(_) | Value::Undef => None,
        _ => Some(call.take(1)),
    };
    let options = if given.is_some() {
        call.hash(2)
    } else {
        call.hash(1)
    };
    let catch_errors = options
        .get_str("_catch_errors")
        .is_some_and(Value::is_truthy);
    let run_as = match options.get_str(action_options::RUN_AS) {
        None | Some(Value::Undef) => None,
        Some(value) => Some(action_options::parse_user(value)?),
    };
    if let Some(option) = action_options::ROLLOUT
        .iter()
        .find(|it| options.get_str(it).is_some())
    {
        let msg = format!(
            "run_plan: a plan is no action on nodes, so it takes no {option}; give {option} to the functions that \
             the plan {name} calls, run_task for example"
        );
        return Err(failure::invalid_value_error(msg));
    }
    let own = |(key, _): &(&Value, &Value)| !key.as_str().is_some_and(|key| key.starts_with('_'));
    let options = options.iter().filter(own);
    let mut arguments: Hash = options
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(targets) = given {
        let parameter = targets_parameter(host, evaluator, &name)?;
        if arguments.insert(parameter, targets).is_some() {
            return evaluator::raise(format!(
                "A plan's '{parameter}' parameter can be specified as the second positional argument to \
                 run_plan(), but in that case '{parameter}' must not be specified in the named arguments hash."
            ));
        }
    }
    let details = [("plan".to_owned(), json!(&*name))].into_iter().collect();
    host.record_event(
        "plan_start",
        &place,
        &format!("Starting: plan {name}"),
        details,
    )?;
    let outer = host.plan.replace(host.run.begin_plan());
    let outer_user = run_as.map(|user| host.run_as.replace(Some(user)));
    let result = run_plan_unchecked(host, evaluator, &name, arguments, false);
    host.plan.set(outer);
    if let Some(user) = outer_user {
        host.run_as.replace(user);
    }
    match result {
        Err(unwind) if catch_errors => match failure::caught_error(&unwind) {
            Some(error) => Ok(error.clone()),
            None => Err(unwind),
        },
        // As in Bolt, `_catch_errors` does not catch the error of an invalid result.
        Ok(value) => check_plan_result(host, &name, value),
        result => result,
    }
}

/// Returns the plan's parameter for targets that are passed by position.
fn targets_parameter(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    name: &str,
) -> EvalResult<&'static str> {
    let parameters = find(host, evaluator, name)?.parameters(evaluator)?;
    let has_nodes = parameters.iter().any(|(name, _)| **name == *"nodes");
    let has_targets = parameters
        .iter()
        .any(|(name, ty)| **name == *"targets" && ty.to_string().contains("TargetSpec"));
    match (has_nodes, has_targets) {
        (true, true) => evaluator::raise(
            "A plan with both a $nodes and $targets parameter cannot have either parameter specified as the \
             second positional argument to run_plan().",
        ),
        (false, true) => Ok("targets"),
        // A plan with neither parameter reports the unknown parameter itself.
        _ => Ok("nodes"),
    }
}

/// Runs a plan of the environment. `from_outside`: the arguments are the JSON of a request.
pub(crate) fn run_named_plan(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    name: &str,
    arguments: Hash,
    from_outside: bool,
) -> EvalResult {
    let value = run_plan_unchecked(host, evaluator, name, arguments, from_outside)?;
    check_plan_result(host, name, value)
}

fn run_plan_unchecked(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    name: &str,
    mut arguments: Hash,
    from_outside: bool,
) -> EvalResult {
    let plan = find(host, evaluator, name)?;
    if from_outside {
        for (parameter, ty) in plan.parameters(evaluator)? {
            let given = arguments.get_str(&parameter).cloned();
            if let Some(value) = given.filter(|_| is_sensitive(&ty)) {
                arguments.insert(&*parameter, Value::sensitive(value));
            }
        }
    }
    match &plan {
        EnvironmentPlan::Puppet(plan) => evaluator.run_plan(plan, &arguments),
        EnvironmentPlan::Yaml(plan) => yaml::run(host, evaluator, plan, &arguments),
    }
}

/// A plan of the environment. If both files exist, the Puppet file is used.
enum EnvironmentPlan {
    Puppet(evaluator::LoadedPlan),
    Yaml(YamlProgram),
}

impl EnvironmentPlan {
    /// Returns the names and types of its parameters.
    fn parameters(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<Vec<(Arc<str>, Type)>> {
        Ok(match self {
            Self::Puppet(plan) => {
                let types = evaluator.plan_types(plan)?;
                let names = plan.parameters().into_iter().map(|(name, _)| name);
                names.zip(types).collect()
            }
            Self::Yaml(plan) => {
                let parameters = plan.parameters.iter();
                parameters
                    .map(|it| (Arc::from(it.name.as_str()), it.ty.clone()))
                    .collect()
            }
        })
    }
}

fn find(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    name: &str,
) -> EvalResult<EnvironmentPlan> {
    if let Some(plan) = evaluator.plan(name)? {
        return Ok(EnvironmentPlan::Puppet(plan));
    }
    if let Some(plan) = yaml::find(host, evaluator, name)? {
        return Ok(EnvironmentPlan::Yaml(plan));
    }
    let msg = format!(
        "Could not find a plan named '{name}'. For a list of available plans, run 'tutti plan list'."
    );
    Err(failure::plain_error("bolt/unknown-plan", msg))
}

/// Returns true for `Sensitive` and `Sensitive[…]` exactly, as in Puppet Enterprise.
fn is_sensitive(ty: &Type) -> bool {
    ty.unaliased()
        .is_some_and(|ty| matches!(ty.kind(), TypeKind::Sensitive(_)))
}

/// Fails if the result of a plan is not a `PlanResult`.
fn check_plan_result(host: &PlanHost<'_>, name: &str, value: Value) -> EvalResult {
    match host.named_type("PlanResult") {
        Some(ty) if !ty.is_instance(&value) => {
            let result = value.to_string();
            let msg = format!("Plan {name} returned an invalid result: {result}");
            let details = [
                ("plan_name", Value::from(name)),
                ("result_string", Value::from(result.as_str())),
            ];
            let details = details.into_iter().collect();
            Err(failure::bolt_error(
                "bolt/invalid-plan-result",
                &msg,
                details,
            ))
        }
        _ => Ok(value),
    }
}
