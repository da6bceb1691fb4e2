//! The common part of all actions on targets: a job, its results as a `ResultSet`, and the error if
//! some failed. Main type: [`PlanAction`].
//!
//! Invariant: there is one result per target, in the order of the targets; any failure raises
//! `bolt/run-failure` unless the call catches errors; without targets nothing is done.

use std::collections::HashMap;
use std::sync::Arc;

use api_types::rollout::RolloutOptions;
use evaluator::{EvalResult, SourceLocation};
use jobs::{
    JobSpec, JobWork, NativeAction, NodeParamsSource, NodeScope, TaskPlugins, TaskPurpose, TaskWork,
};
use pcore::{Hash, Value};
use pcp::Certname;
use plans::{StepOutcome, StepWork};
use serde_json::{Map, Value as Json, json};

use super::action_options::PlanActionOptions;
use super::refused_task_error;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet, TaskResult, UnknownResult, steps_in};
use crate::preview::PreviewedAction;
use crate::task_name::parse_task_name;
use crate::{failure, json as data};

const ERROR: &str = "_error";

/// An action on targets, performed by a native action of agents or by a task.
pub(crate) struct PlanAction<'a> {
    /// The `action` of results: `task`, `command`, `script`, `upload`, `download`, `apply`, …
    pub(crate) name: &'static str,
    /// The plan function in messages, such as `run_task`.
    pub(crate) function: &'static str,
    /// The task, the command line or the file.
    pub(crate) object: &'a str,
    /// The action of an agent's own PXP module, used by agents that have it; `None` for tasks.
    pub(crate) native: Option<NativeAction>,
    /// Name of the task that performs the action.
    pub(crate) task: &'a str,
    /// The reason that the task is run.
    pub(crate) purpose: TaskPurpose,
    /// Code of modules that is sent with the task.
    pub(crate) plugins: TaskPlugins,
    /// Parameters of the task, including secrets.
    pub(crate) params: Map<String, Json>,
    /// Parameters that each node has for itself; `None` if there are none.
    pub(crate) node_params: Option<Arc<dyn NodeParamsSource>>,
    /// Names of the parameters that are secret.
    pub(crate) sensitive: Vec<String>,
    /// The arguments that are journaled, without secrets.
    pub(crate) shown: Json,
    /// Converts the value that a node returned to the value of the `Result`.
    pub(crate) convert: &'a dyn Fn(&PlanTarget, Json) -> Json,
}

impl PlanAction<'_> {
    /// Performs the action on these targets; fails if it failed on one of them.
    pub(crate) fn run(
        self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        targets: Vec<PlanTarget>,
        options: &PlanActionOptions,
    ) -> EvalResult {
        let set = self.results(host, place, targets, options)?;
        finish_action(self.function, self.object, set, options)
    }

    /// Performs the action and returns the results, failed ones included.
    pub(crate) fn results(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        targets: Vec<PlanTarget>,
        options: &PlanActionOptions,
    ) -> EvalResult<ResultSet> {
        if targets.is_empty() {
            return Ok(ResultSet::default());
        }
        let mut noop = options.noop;
        if let Some(preview) = &host.preview {
            let known = targets.iter().filter(|it| it.unknown().is_none());
            certnames(&known.cloned().collect::<Vec<_>>())?;
            match preview.action(host, place, self, &targets, options)? {
                PreviewedAction::Shown(set) => return Ok(set),
                PreviewedAction::Noop => noop = true,
            }
        }
        let certnames = certnames(&targets)?;
        let names: Vec<String> = targets.iter().map(PlanTarget::safe_name).collect();
        let mut arguments = json!({
            "on": names, "do": self.shown, "task": self.task, "noop": noop,
        });
        if let Some(user) = &options.run_as {
            arguments["run_as"] = Json::from(user.as_str());
        }
        if options.limits.rollout != RolloutOptions::default() {
            arguments["rollout"] = json!(options.limits.rollout);
        }
        let work = match self.job(host, certnames, noop, options) {
            Ok(spec) => StepWork::Run(Box::new(spec)),
            Err(refused) => StepWork::Compute(Box::new(move || StepOutcome::failed(refused))),
        };
        let outcome = host.step(self.name, place, arguments, work)?;
        self.set(host, place, targets, &outcome)
    }

    /// The job that does it, or the error for a task that can have no job.
    fn job(
        &self,
        host: &PlanHost<'_>,
        certnames: Vec<Certname>,
        noop: bool,
        options: &PlanActionOptions,
    ) -> Result<JobSpec, Json> {
        let task = TaskWork {
            params: self.params.clone(),
            node_params: self.node_params.clone(),
            purpose: self.purpose,
            plugins: self.plugins.clone(),
            sensitive: self.sensitive.clone(),
            run_as: options.run_as.clone(),
            noop,
            ..TaskWork::new(host.environment_name()?, parse_task_name(self.task)?)
        };
        let work = match self.native.clone() {
            Some(action) => JobWork::Native { action, task },
            None => JobWork::Task(task),
        };
        Ok(JobSpec {
            limits: options.limits.clone(),
            description: options.description.clone(),
            ..JobSpec::new(work, NodeScope::Nodes(certnames))
        })
    }

    fn set(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        targets: Vec<PlanTarget>,
        outcome: &StepOutcome,
    ) -> EvalResult<ResultSet> {
        let Some(results) = outcome.value["results"].as_array() else {
            // The job engine refused the request.
            return Err(refused_task_error(
                host,
                place,
                self.task,
                &self.params,
                &outcome.value,
            ));
        };
        let results = NodeResults {
            action: self.name,
            object: self.object,
            results: results.iter().collect(),
        };
        Ok(results.to_set(place, targets, self.convert))
    }
}

/// Results of an action as the job engine gives them, with the `target` of each.
pub(crate) struct NodeResults<'a> {
    /// The `action` of the results.
    pub(crate) action: &'static str,
    /// The `object` of the results.
    pub(crate) object: &'a str,
    pub(crate) results: Vec<&'a Json>,
}

impl NodeResults<'_> {
    /// The results of these targets in their order, with converted values.
    pub(crate) fn to_set(
        &self,
        place: &SourceLocation,
        targets: Vec<PlanTarget>,
        convert: &dyn Fn(&PlanTarget, Json) -> Json,
    ) -> ResultSet {
        let by_name: HashMap<&str, &Json> = self
            .results
            .iter()
            .filter_map(|told| Some((told["target"].as_str()?, *told)))
            .collect();
        let result = |target: PlanTarget| {
            let told = by_name.get(target.certname()).copied();
            let mut told = told.cloned().unwrap_or(Json::Null);
            let value = convert(&target, told["value"].take());
            if told.is_null() {
                told = json!({});
            }
            if value.get(ERROR).is_some() {
                told["status"] = json!("failure");
            }
            told["value"] = value;
            complete_error(&mut told["value"], self.object, place);
            TaskResult::from_json(target, self.action, Some(self.object), &told)
        };
        ResultSet::new(targets.into_iter().map(result))
    }
}

/// Completes the error in a node's value, as Bolt does. If the node gave no details, they get the
/// location in the plan.
fn complete_error(value: &mut Json, object: &str, place: &SourceLocation) {
    let Some(error) = value.get_mut(ERROR) else {
        return;
    };
    let has_details = error.get("details").is_some_and(|it| !it.is_null());
    let is_explained = has_details && error.get("issue_code").is_none();
    *error = whole_error(object, error);
    let Some(details) = error["details"].as_object_mut().filter(|_| !is_explained) else {
        return;
    };
    let own = std::mem::take(details);
    if let Some(file) = &place.file {
        details.insert("file".to_owned(), json!(&**file));
        if place.line > 0 {
            details.insert("line".to_owned(), json!(place.line));
        }
    }
    details.extend(own);
}

/// Returns an error with message, kind and details.
fn whole_error(task: &str, error: &Json) -> Json {
    let Some(own) = error.as_object().filter(|own| own.contains_key("msg")) else {
        let msg = format!(
            "Invalid error returned from task {task}: {error}. Error must be an object with a msg key."
        );
        let details = json!({"original_error": error});
        return json!({"kind": "bolt/invalid-task-error", "msg": msg, "details": details});
    };
    let mut own = own.clone();
    let mut complete = |key: &str, value: Json| {
        if own.get(key).is_none_or(Json::is_null) {
            own.insert(key.to_owned(), value);
        }
    };
    complete("kind", json!("bolt/error"));
    complete("details", json!({}));
    Json::Object(own)
}

/// Returns the set, or `bolt/run-failure` if an action failed and errors are not caught.
pub(crate) fn finish_action(
    function: &str,
    object: &str,
    set: ResultSet,
    options: &PlanActionOptions,
) -> EvalResult {
    if set.has_unknown_targets() {
        let steps = steps_in(&Value::object(set));
        return Ok(Value::object(UnknownResult::new(steps, None)));
    }
    let failed = set.failures();
    if failed == 0 || options.catch_errors {
        return Ok(Value::object(set));
    }
    let targets = if failed == 1 { "target" } else { "targets" };
    let msg = format!("{function} '{object}' failed on {failed} {targets}");
    let mut details = Hash::new();
    details.insert("action", function);
    details.insert("object", object);
    details.insert("result_set", Value::object(set));
    Err(failure::bolt_error("bolt/run-failure", &msg, details))
}

/// Returns the certnames of the targets.
pub(crate) fn certnames(targets: &[PlanTarget]) -> EvalResult<Vec<Certname>> {
    let parse = |target: &PlanTarget| {
        target.certname().parse().map_err(|error| {
            let msg = format!("a target cannot be a node of this server: {error}");
            failure::plain_error("bolt.inventory/validation-error", msg)
        })
    };
    targets.iter().map(parse).collect()
}

/// Converts parameters to JSON, and returns the names of those that are secret.
pub(crate) fn parameters(
    given: &Hash,
    place: &SourceLocation,
) -> EvalResult<(Map<String, Json>, Vec<String>)> {
    let mut params = Map::with_capacity(given.len());
    let mut sensitive = Vec::new();
    for (name, value) in given.iter() {
        let name = name.to_string();
        if value.is_undef() {
            continue;
        }
        let (json, is_secret) = data::to_json(value).map_err(|error| {
            let msg = format!(
                "the parameter '{name}'{} is of type {}, which is not Data",
                error.path, error.ty
            );
            failure::plan_mistake(&msg, place)
        })?;
        if is_secret {
            sensitive.push(name.clone());
        }
        params.insert(name, json);
    }
    Ok((params, sensitive))
}
