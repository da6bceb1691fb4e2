//! `run_task`, `run_task_with`, `run_command`, `run_script`.
//!
//! Invariant: a task's parameters are checked by the job engine, which has the metadata; a refused
//! request fails with that engine's error.

use std::collections::BTreeMap;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalError, EvalResult, Evaluator};
use jobs::{NativeAction, TaskPlugins, TaskPurpose};
use pcore::{Hash, Type, Value};
use serde_json::{Map, Value as Json, json};

use super::action::{PlanAction, finish_action, parameters};
use super::action_options::PlanActionOptions;
use super::plan_function::PlanFunctionBody;
use super::task_refusals::as_mistake;
use super::{targets, transfer};
use crate::error_object::error_object;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet, TaskResult};

const SPEC: &str = "Boltlib::TargetSpec";
const DATA: &str = "Hash[String[1], Any]";

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "run_task",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "task_name"),
                    one(SPEC, "targets"),
                    optional(DATA, "args"),
                ])
                .returning("ResultSet"),
                FunctionDispatch::host(&[
                    one("String[1]", "task_name"),
                    one(SPEC, "targets"),
                    one("Optional[String]", "description"),
                    optional(DATA, "args"),
                ])
                .returning("ResultSet"),
            ],
        ),
        run_task,
    ),
    (
        FunctionSpec::new(
            "run_task_with",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "task_name"),
                    one(SPEC, "targets"),
                    optional(DATA, "options"),
                ])
                .with_block("Callable[Target]")
                .returning("ResultSet"),
                FunctionDispatch::host(&[
                    one("String[1]", "task_name"),
                    one(SPEC, "targets"),
                    one("Optional[String]", "description"),
                    optional(DATA, "options"),
                ])
                .with_block("Callable[Target]")
                .returning("ResultSet"),
            ],
        ),
        run_task_with,
    ),
    (
        FunctionSpec::new(
            "run_command",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "command"),
                    one(SPEC, "targets"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
                FunctionDispatch::host(&[
                    one("String[1]", "command"),
                    one(SPEC, "targets"),
                    one("String", "description"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
            ],
        ),
        run_command,
    ),
    (
        FunctionSpec::new(
            "run_script",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "script"),
                    one(SPEC, "targets"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
                FunctionDispatch::host(&[
                    one("String[1]", "script"),
                    one(SPEC, "targets"),
                    one("String", "description"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
            ],
        ),
        run_script,
    ),
];

fn run_task(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (name, place) = (call.text(0), call.location());
    let targets = targets::of(host, &place, call.get(1))?;
    let options = PlanActionOptions::of(host, &call, 2)?;
    let (params, sensitive) = parameters(&options.parameters, &place)?;
    task(&name, params, sensitive).run(host, &place, targets, &options)
}

fn task(name: &str, params: Map<String, Json>, sensitive: Vec<String>) -> PlanAction<'_> {
    let shown = params
        .iter()
        .map(|(name, value)| match sensitive.contains(name) {
            true => (name.clone(), json!(pcore::REDACTED)),
            false => (name.clone(), value.clone()),
        });
    PlanAction {
        name: "task",
        purpose: TaskPurpose::Task,
        plugins: TaskPlugins::None,
        node_params: None,
        function: "run_task",
        object: name,
        task: name,
        shown: Json::Object(shown.collect()),
        params,
        sensitive,
        native: None,
        convert: &|_, value| value,
    }
}

/// Calls the block for each target; targets with the same parameters become one job.
fn run_task_with(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let (name, place, block) = (call.text(0), call.location(), call.required_block());
    let targets = targets::of(host, &place, call.get(1))?;
    let options = PlanActionOptions::of(host, &call, 2)?;
    let mut groups: Vec<(Hash, Vec<usize>)> = Vec::new();
    let mut results: Vec<Option<TaskResult>> = vec![None; targets.len()];
    for (index, target) in targets.iter().enumerate() {
        let value = evaluator.call_block(block, [Value::object(target.clone())])?;
        if let Some(preview) = &host.preview {
            preview.add_given(&value);
        }
        let Some(given) = value.as_hash() else {
            let ty = Type::infer(&value).generalize();
            let msg = format!("Block must return a Hash of parameters, received {ty}");
            let error = failure::plan_mistake(&msg, &place);
            results[index] = Some(mistake_result(target, &error));
            continue;
        };
        match groups.iter_mut().find(|(params, _)| params == given) {
            Some((_, indices)) => indices.push(index),
            None => groups.push((given.clone(), vec![index])),
        }
    }
    for (given, indices) in groups {
        let chosen: Vec<_> = indices
            .iter()
            .filter_map(|it| targets.get(*it).cloned())
            .collect();
        let (params, sensitive) = parameters(&given, &place)?;
        let set =
            match task(&name, params, sensitive).results(host, &place, chosen.clone(), &options) {
                Ok(set) => set,
                // An error in one target's parameters is that target's failure.
                Err(unwind) => match as_mistake(&unwind) {
                    Some(error) => {
                        ResultSet::new(chosen.iter().map(|target| mistake_result(target, error)))
                    }
                    None => return Err(unwind),
                },
            };
        for (index, result) in indices.into_iter().zip(set.results()) {
            if let Some(place) = results.get_mut(index) {
                *place = Some(TaskResult::clone(result));
            }
        }
    }
    let set = ResultSet::new(results.into_iter().flatten());
    finish_action("run_task", &name, set, &options)
}

/// The failed result of a target with wrong parameters.
fn mistake_result(target: &PlanTarget, error: &EvalError) -> TaskResult {
    let error = error_object(
        "puppetlabs.tasks/exception-error",
        &error.message,
        Hash::new(),
        Some("EXCEPTION"),
    );
    TaskResult::failed(target.clone(), "task", None, error)
}

fn run_command(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (command, place) = (call.text(0), call.location());
    let targets = targets::of(host, &place, call.get(1))?;
    let options = PlanActionOptions::of(host, &call, 2)?;
    let line = format!("{}{command}", exports(&options));
    let action = PlanAction {
        name: "command",
        purpose: TaskPurpose::Task,
        plugins: TaskPlugins::None,
        node_params: None,
        function: "run_command",
        object: &command,
        native: Some(NativeAction::Command {
            line: command.to_string(),
            env: options.env_vars.iter().cloned().collect(),
        }),
        task: "bolt_shim::command",
        params: [("command".to_owned(), json!(line))].into_iter().collect(),
        sensitive: Vec::new(),
        shown: json!(line),
        convert: &|_, value| with_exit_error(value),
    };
    action.run(host, &place, targets, &options)
}

/// The shell commands before a command that set its environment variables.
fn exports(options: &PlanActionOptions) -> String {
    let export = |(name, value): &(String, String)| {
        format!("{name}='{}'; export {name}; ", value.replace('\'', r"'\''"))
    };
    options.env_vars.iter().map(export).collect()
}

fn run_script(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (script, place) = (call.text(0), call.location());
    let targets = targets::of(host, &place, call.get(1))?;
    let options = PlanActionOptions::of(host, &call, 2)?;
    let arguments = script_arguments(host, &options.parameters)?;
    let file = transfer::read_local_file(host, &place, &script, transfer::SCRIPT_FOLDERS)?;
    let name = script.rsplit('/').next().unwrap_or(&script);
    let env: BTreeMap<String, String> = options.env_vars.iter().cloned().collect();
    let mut params = Map::new();
    params.insert("content".to_owned(), Json::from(file.base64()));
    params.insert("arguments".to_owned(), json!(arguments));
    params.insert("name".to_owned(), json!(name));
    if !env.is_empty() {
        params.insert("env_vars".to_owned(), json!(env));
    }
    let native = NativeAction::Script {
        file: file.content(&script),
        arguments: arguments.clone(),
        env,
    };
    let action = PlanAction {
        name: "script",
        purpose: TaskPurpose::Task,
        plugins: TaskPlugins::None,
        node_params: None,
        function: "run_script",
        object: &script,
        native: Some(native),
        task: "bolt_shim::script",
        shown: json!({
            "sha256": file.sha256, "arguments": arguments, "env_vars": params.get("env_vars"),
        }),
        params,
        sensitive: Vec::new(),
        convert: &|_, value| with_exit_error(value),
    };
    action.run(host, &place, targets, &options)
}

/// The arguments of a script as strings. `Sensitive` values among them are sent in clear text, so
/// they count as unwrapped.
fn script_arguments(host: &PlanHost<'_>, given: &Hash) -> EvalResult<Vec<String>> {
    let (arguments, pwsh_params) = (given.get_str("arguments"), given.get_str("pwsh_params"));
    match pwsh_params {
        None => {}
        Some(_) if arguments.is_some() => {
            let msg = "Cannot specify both 'arguments' and 'pwsh_params'";
            return Err(failure::invalid_value_error(msg));
        }
        Some(_) => {
            let msg =
                "Option 'pwsh_params' is for nodes with Windows, where this server runs no scripts";
            return Err(failure::invalid_value_error(msg));
        }
    }
    let Some(arguments) = arguments else {
        return Ok(Vec::new());
    };
    let list = arguments
        .as_array()
        .ok_or_else(|| failure::invalid_value_error("Option 'arguments' must be an array"))?;
    host.run.unwrapped.add_hidden(arguments);
    let text = |argument: &Value| match argument {
        Value::Sensitive(inner) => inner.to_string(),
        argument => argument.to_string(),
    };
    Ok(list.iter().map(text).collect())
}

/// Completes the error of a command that failed, in Bolt's form. The job engine usually returns
/// this form; jobs that an earlier version started may have a shorter one without `merged_output`.
fn with_exit_error(mut value: Json) -> Json {
    let Some(code) = value["exit_code"].as_i64() else {
        return value;
    };
    if value.get("merged_output").is_some() {
        return value;
    }
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    value["merged_output"] = Json::from(text("stdout") + &text("stderr"));
    if code != 0 {
        value["_error"] = json!({
            "kind": "puppetlabs.tasks/command-error",
            "issue_code": "COMMAND_ERROR",
            "msg": format!("The command failed with exit code {code}"),
            "details": {"exit_code": code},
        });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_failed_has_an_error() {
        let done = with_exit_error(json!({"stdout": "a", "stderr": "b", "exit_code": 3}));
        assert_eq!(done["merged_output"], "ab");
        assert_eq!(done["_error"]["msg"], "The command failed with exit code 3");
        let done = with_exit_error(json!({"stdout": "a", "stderr": "", "exit_code": 0}));
        assert!(done.get("_error").is_none());
        let other = json!({"_error": {"msg": "no python"}});
        assert_eq!(with_exit_error(other.clone()), other);
    }

    #[test]
    fn variables_are_quoted() {
        let options = PlanActionOptions {
            env_vars: vec![("A".to_owned(), "it's".to_owned())],
            ..PlanActionOptions::default()
        };
        assert_eq!(exports(&options), r"A='it'\''s'; export A; ");
    }
}
