//! Preparation of tasks and native actions.
//!
//! Invariant: a value of a secret parameter is in the action for the agents, and in no shown option.

use std::collections::BTreeMap;
use std::sync::Arc;

use environments::{BlobError, BlobStore, EnvironmentTask, ValidParams, validate_params};
use pcp::Certname;
use pxp::action::{self, FileSpec, FileUri, TaskParams};
use serde_json::{Map, Value, json};

use super::{JobPreparer, PreparedWork, add_rollout_options};
use crate::defaults::USER_BYTES;
use crate::download::DownloadDirectory;
use crate::engine::JobTarget;
use crate::kind::JobAction;
use crate::native::NativeAction;
use crate::node_params::CollectedNodeParams;
use crate::outcome::REDACTED;
use crate::plugin_files::plugin_entries;
use crate::refusal::RunJobError;
use crate::spec::{JobSpec, TaskPlugins, TaskWork};
use crate::verdict::RunVerdict;

// === impl JobPreparer ===

impl JobPreparer {
    /// Prepares a task, or the native action that it stands in for.
    pub(super) async fn prepare_task(
        &self,
        spec: &JobSpec,
        task: &TaskWork,
        native: Option<&NativeAction>,
    ) -> Result<PreparedWork, RunJobError> {
        let code_id = spec.work.known_code_id();
        let sources = self.target_sources(spec, code_id.as_ref());
        let nodes = self.resolve_nodes(spec, &sources).await?;
        check_user(task, native)?;
        let directory = self
            .download_directory(spec, native)
            .map_err(|what| RunJobError::Limit(what.to_owned()))?;
        let code = self.read_task(task).await?;
        if task.noop && !code.metadata.supports_noop {
            return Err(RunJobError::NoopUnsupported(task.name.clone()));
        }
        let valid = check_params(task, &code)?;
        let sensitive = sensitive_names(&valid, task);
        let native_params = native.map(|native| native.to_shown_params(&sensitive));
        let params = native_params.unwrap_or_else(|| shown_params(&valid, &sensitive));
        let options = shown_options(spec, task, &nodes, params, &sensitive);
        let native_action = self.prepare_native(task, native, &sensitive).await?;
        let has_task = native.is_none_or(NativeAction::has_task);
        let budget = &self.node_params;
        let mut collected = match &task.node_params {
            Some(source) => CollectedNodeParams::collect(&**source, &nodes, budget).await,
            None => CollectedNodeParams::none(budget),
        };
        let files = std::mem::take(&mut collected.files);
        let code = self.add_files(task, code, files).await?;
        let params = action::encode(&task_params(task, code, without_sample(task, valid)));
        // A target that cannot run it as another user must not run it at all.
        let action = match (native_action, task.run_as.clone()) {
            (Some(native), None) if has_task => {
                native.with_task_fallback(task.name.as_str(), params)
            }
            (Some(native), _) => native,
            (None, user) => {
                JobAction::new("task", "run", params).with_user_and_env(user, BTreeMap::new())
            }
        };
        let action = match directory {
            Some(directory) => action.with_download(directory),
            None => action,
        };
        let action = action.with_over_ssh(task.over_ssh.clone());
        let mut errors = std::mem::take(&mut collected.errors);
        let target = |certname: Certname| JobTarget {
            refusal: errors
                .remove(&certname)
                .map(|error| RunVerdict::NoParams(Box::new(error))),
            certname,
        };
        let targets = nodes.into_iter().map(target).collect();
        Ok(PreparedWork {
            targets,
            action: action.with_node_params(collected.into_params()),
            options,
            order: None,
            deferred: None,
            rollout: spec.limits.rollout.clone(),
        })
    }

    /// Destination on the server for the files of a download.
    fn download_directory(
        &self,
        spec: &JobSpec,
        native: Option<&NativeAction>,
    ) -> Result<Option<DownloadDirectory>, &'static str> {
        let Some(NativeAction::Download {
            source,
            destination,
        }) = native
        else {
            return Ok(None);
        };
        let root = self.downloads.as_ref();
        let root = root.ok_or("this server keeps no files of nodes")?;
        let step = spec.plan_step.as_ref();
        let plan_job = step.ok_or("only plans download files")?.plan_job;
        DownloadDirectory::new(root, plan_job, destination, source).map(Some)
    }

    /// The native action for the agents, with its files stored for them.
    async fn prepare_native(
        &self,
        task: &TaskWork,
        native: Option<&NativeAction>,
        sensitive: &[String],
    ) -> Result<Option<JobAction>, BlobError> {
        let Some(native) = native.cloned() else {
            return Ok(None);
        };
        let (environment, blobs) = (task.environment.clone(), self.blobs.clone());
        let (run_as, sensitive) = (task.run_as.clone(), sensitive.to_owned());
        // Storing files blocks.
        let kept = tokio::task::spawn_blocking(move || {
            native.to_job_action(&environment, &blobs, run_as.as_deref(), &sensitive)
        });
        kept.await
            .expect("keeping files does not panic, and blocking tasks are not aborted")
            .map(Some)
    }

    /// The task's current code; its files are kept for as long as agents may fetch them.
    async fn read_task(&self, task: &TaskWork) -> Result<EnvironmentTask, RunJobError> {
        let (code, blobs) = (Arc::clone(&self.code), self.blobs.clone());
        let (environment, name) = (task.environment.clone(), task.name.clone());
        let code_id = task.code_id.clone();
        // Reading code blocks.
        tokio::task::spawn_blocking(move || {
            let version = code.version_of(&environment, code_id.as_deref())?;
            let task = version.task(&name)?;
            store_files(&task, &blobs)?;
            Ok(task)
        })
        .await
        .expect("reading code does not panic, and blocking tasks are not aborted")
    }

    /// Adds files of modules to those of a task: its plugins, and the files that its parameters name.
    async fn add_files(
        &self,
        task: &TaskWork,
        mut found: EnvironmentTask,
        mut files: Vec<String>,
    ) -> Result<EnvironmentTask, RunJobError> {
        let plugins = task.plugins.clone();
        if plugins == TaskPlugins::None && files.is_empty() {
            return Ok(found);
        }
        let (code, blobs) = (Arc::clone(&self.code), self.blobs.clone());
        let (environment, code_id) = (task.environment.clone(), task.code_id.clone());
        // Reading code blocks.
        tokio::task::spawn_blocking(move || {
            let version = code.version_of(&environment, code_id.as_deref())?;
            files.extend(plugin_entries(&*version, &plugins)?);
            version.add_task_files(&mut found, &files)?;
            store_files(&found, &blobs)?;
            Ok(found)
        })
        .await
        .expect("reading code does not panic, and blocking tasks are not aborted")
    }
}

/// Stores the files of a task for the agents; blocks on the disk.
fn store_files(task: &EnvironmentTask, blobs: &BlobStore) -> Result<(), BlobError> {
    task.files
        .iter()
        .try_for_each(|file| blobs.store_task_file(file))
}

/// Checks the user name: it is looked up on nodes, and passed to `sudo` over SSH.
fn check_user(task: &TaskWork, native: Option<&NativeAction>) -> Result<(), RunJobError> {
    let Some(user) = &task.run_as else {
        return Ok(());
    };
    let why = match user.as_str() {
        _ if native.is_some_and(|it| !it.has_users()) => {
            "directories are put in place by the agent's own user"
        }
        "" => "the name is empty",
        name if name.len() > USER_BYTES => "the name is too long",
        name if name.starts_with(['-', '#', '+']) => "a user's name does not begin so",
        name if name
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == ':') =>
        {
            "a user's name has no blanks, colons and control characters"
        }
        _ => return Ok(()),
    };
    let user = user.clone();
    Err(RunJobError::RunAs { user, why })
}

/// Checks the parameters. Those that each node has for itself are represented by a sample.
fn check_params(task: &TaskWork, code: &EnvironmentTask) -> Result<ValidParams, RunJobError> {
    let mut params = task.params.clone();
    let sample = task.node_params.as_ref().map(|source| source.sample());
    params.extend(sample.into_iter().flatten());
    let valid = validate_params(&code.metadata, &params);
    let mut valid = valid.map_err(|problems| RunJobError::Parameters {
        task: task.name.clone(),
        problems,
    })?;
    if let Some(source) = &task.node_params {
        valid
            .sensitive
            .extend(source.sample().into_iter().map(|(name, _)| name));
        valid.sensitive.sort();
        valid.sensitive.dedup();
    }
    Ok(valid)
}

/// The parameters that all nodes have in common.
fn without_sample(task: &TaskWork, mut valid: ValidParams) -> ValidParams {
    let sample = task.node_params.as_ref().map(|source| source.sample());
    for (name, _) in sample.into_iter().flatten() {
        valid.params.remove(&name);
    }
    valid
}

/// The secret parameters: those that the metadata names, and those that the caller names.
fn sensitive_names(valid: &ValidParams, task: &TaskWork) -> Vec<String> {
    let mut names = valid.sensitive.clone();
    let more = task
        .sensitive
        .iter()
        .filter(|name| !valid.sensitive.contains(name));
    names.extend(more.cloned());
    names
}

/// The parameters with defaults, without secrets.
fn shown_params(valid: &ValidParams, sensitive: &[String]) -> Value {
    let shown = |(name, value): (&String, &Value)| {
        let value = match sensitive.contains(name) {
            true => Value::from(REDACTED),
            false => value.clone(),
        };
        (name.clone(), value)
    };
    valid.params.iter().map(shown).collect()
}

/// The options as stored and shown: as requested, with defaults, without secrets.
fn shown_options(
    spec: &JobSpec,
    task: &TaskWork,
    nodes: &[Certname],
    params: Value,
    sensitive: &[String],
) -> Value {
    let mut options = json!({
        "task": task.name,
        "params": params,
        "sensitive": sensitive,
        "scope": spec.scope.to_shown_value(nodes),
        "noop": task.noop,
        "environment": task.environment.as_str(),
        "description": spec.description,
        "transport": "pxp",
        "concurrency": spec.limits.concurrency,
        "timeout": spec.limits.timeout.map(|timeout| timeout.as_secs()),
        "scheduled-job-id": spec.slot.map(|slot| slot.schedule),
        "plan_job": spec.plan_step.as_ref().map(|step| step.plan_job),
    });
    add_rollout_options(&mut options, &spec.limits.rollout);
    if let Some(user) = &task.run_as {
        options["run_as"] = Value::from(user.as_str());
    }
    options
}

fn task_params(task: &TaskWork, code: EnvironmentTask, valid: ValidParams) -> TaskParams {
    let mut input = valid.params;
    // As PE's orchestrator does; an agent also sets `_task` by itself.
    input.insert("_task".to_owned(), Value::from(task.name.as_str()));
    if task.noop {
        input.insert("_noop".to_owned(), Value::from(true));
    }
    let environment = Value::from(task.environment.as_str());
    let file = |file: environments::TaskSourceFile| {
        let params = Map::from_iter([
            ("environment".to_owned(), environment.clone()),
            ("sha256".to_owned(), Value::from(file.sha256.to_string())),
        ]);
        FileSpec {
            filename: file.filename,
            sha256: file.sha256,
            uri: FileUri {
                path: file.uri_path,
                params,
            },
        }
    };
    TaskParams {
        task: task.name.clone(),
        input,
        input_method: None,
        metadata: Some(code.metadata.for_agent(Vec::new())),
        files: code.files.into_iter().map(file).collect(),
        features: Vec::new(),
    }
}
