//! From a request to a job that can be committed: everything that can be refused is refused here.
//!
//! [`JobPreparer`] reads the code, checks the parameters and keeps the secrets apart. Invariant:
//! past this point a secret exists only in the sealed part of the job and in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::{
    BlobError, BlobStore, CodeReader, EnvironmentName, EnvironmentNameError, EnvironmentTask,
    ValidParams, validate_params,
};
use pcp::Certname;
use pki::seal::SealKey;
use pxp::action::{self, FileSpec, FileUri, TaskParams};
use pxp::task::{TaskName, TaskNameError};
use serde_json::{Map, Value, json};
use store::{Clock, NewJob};
use telemetry::Tracer;

use crate::defaults::{RUN_TIMEOUT_MAX, USER_BYTES};
use crate::download::DownloadDirectory;
use crate::engine::{JobDispatch, JobTarget, PreparedJob, to_stored_timeout};
use crate::kind::{JobAction, JobKind};
use crate::native::NativeAction;
use crate::outcome::REDACTED;
use crate::request::{RunTaskError, TaskRequest};
use crate::resolve::NodeResolver;
use crate::targets::{NodeScope, resolve_targets};
use crate::trace::JobTrace;

pub(crate) struct JobPreparer {
    pub(crate) code: Arc<dyn CodeReader>,
    pub(crate) blobs: BlobStore,
    pub(crate) seal: Arc<SealKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) resolve: Arc<dyn NodeResolver>,
    pub(crate) run_timeout: Duration,
    /// As in [`JobsConfig`](crate::JobsConfig).
    pub(crate) downloads: Option<PathBuf>,
    pub(crate) tracer: Tracer,
}

// === impl Preparation ===

impl JobPreparer {
    pub(crate) async fn prepare(&self, request: TaskRequest) -> Result<PreparedJob, RunTaskError> {
        let nodes = match &request.nodes {
            Some(nodes) => {
                resolve_targets(&NodeScope::Nodes(nodes.clone()), "", &*self.resolve).await?
            }
            None => resolve_targets(&request.scope, &request.environment, &*self.resolve).await?,
        };
        check_limits(request.concurrency, request.timeout, &request.rollout)
            .map_err(RunTaskError::Limit)?;
        check_user(&request)?;
        let place = self
            .download_directory(&request)
            .map_err(|what| RunTaskError::Limit(what.to_owned()))?;
        let (environment, name, task) = self.read_task(&request).await?;
        if request.noop && !task.metadata.supports_noop {
            return Err(RunTaskError::NoopUnsupported(request.task));
        }
        let valid = validate_params(&task.metadata, &request.params).map_err(|problems| {
            RunTaskError::Parameters {
                task: request.task.clone(),
                problems,
            }
        })?;
        let sensitive = sensitive_names(&valid, &request);
        let mut options = shown_options(&request, &nodes, &valid, &sensitive);
        let kind = request
            .native
            .as_ref()
            .map_or(JobKind::Task, NativeAction::kind);
        let (command, step) = kind.names();
        let name_of_kind = request.plan_job.map_or(command, |_| step);
        let trace = JobTrace::begin(&self.tracer, name_of_kind, nodes.len());
        JobTrace::add_trace_id(trace.as_ref(), &mut options);
        let keeps_secrets = request.mark.is_some();
        let has_task = request.native.as_ref().is_none_or(NativeAction::has_task);
        let native = self
            .prepare_native(&request, &environment, &sensitive)
            .await?;
        let params = task_params(&environment, name, task, valid, request.noop);
        let params = action::encode(&params);
        // A target that cannot run it as another user must not run it at all.
        let action = match (native, request.run_as.clone()) {
            (Some(native), None) if has_task => native.with_task_fallback(&request.task, params),
            (Some(native), _) => native,
            (None, user) => {
                JobAction::new("task", "run", params).with_user_and_env(user, BTreeMap::new())
            }
        };
        let action = match place {
            Some(place) => action.with_download(place),
            None => action,
        };
        let dispatch = JobDispatch {
            action: Some(action.with_over_ssh(request.over_ssh)),
            timeout_ms: to_stored_timeout(request.timeout.unwrap_or(self.run_timeout)),
            concurrency: request.concurrency,
            noop: request.noop,
            keeps_secrets,
            trace,
        };
        let row = NewJob {
            command: command.to_owned(),
            kind: name_of_kind.to_owned(),
            task: Some(request.task),
            environment: environment.to_string(),
            options: options.to_string(),
            sealed: Some(dispatch.seal(&self.seal)),
            owner: request.owner,
            description: request.description,
            userdata: Value::Object(request.userdata).to_string(),
            created_ms: self.clock.now_ms(),
            states: Vec::new(),
            batches: None,
            runs: Vec::new(),
            events: Vec::new(),
            slot: request.slot,
            plan_job: request.plan_job,
            mark: request.mark,
        };
        Ok(PreparedJob {
            row,
            targets: nodes.into_iter().map(JobTarget::from).collect(),
            kind,
            dispatch,
            rollout: request.rollout,
            after_restart: request.after_restart,
        })
    }

    /// Destination on the server for the files of a download.
    fn download_directory(
        &self,
        request: &TaskRequest,
    ) -> Result<Option<DownloadDirectory>, &'static str> {
        let Some(NativeAction::Download {
            source,
            destination,
        }) = &request.native
        else {
            return Ok(None);
        };
        let root = self.downloads.as_ref();
        let root = root.ok_or("this server keeps no files of nodes")?;
        let plan_job = request.plan_job.ok_or("only plans download files")?;
        DownloadDirectory::new(root, plan_job, destination, source).map(Some)
    }

    /// The native action for the agents, with its files stored for them.
    async fn prepare_native(
        &self,
        request: &TaskRequest,
        environment: &EnvironmentName,
        sensitive: &[String],
    ) -> Result<Option<JobAction>, BlobError> {
        let Some(native) = request.native.clone() else {
            return Ok(None);
        };
        let (environment, blobs) = (environment.clone(), self.blobs.clone());
        let (run_as, sensitive) = (request.run_as.clone(), sensitive.to_owned());
        // Storing files blocks.
        let kept = tokio::task::spawn_blocking(move || {
            native.to_job_action(&environment, &blobs, run_as.as_deref(), &sensitive)
        });
        kept.await
            .expect("keeping files does not panic, and blocking tasks are not aborted")
            .map(Some)
    }

    /// The task's current code; its files are kept for as long as agents may fetch them.
    async fn read_task(
        &self,
        request: &TaskRequest,
    ) -> Result<(EnvironmentName, TaskName, EnvironmentTask), RunTaskError> {
        let environment: EnvironmentName =
            request
                .environment
                .parse()
                .map_err(|error: EnvironmentNameError| {
                    let name = request.environment.clone();
                    RunTaskError::EnvironmentName {
                        name,
                        reason: error.to_string(),
                    }
                })?;
        let name: TaskName =
            request
                .task
                .parse()
                .map_err(|error: TaskNameError| RunTaskError::TaskName {
                    name: request.task.clone(),
                    reason: error.to_string(),
                })?;
        let (code, blobs) = (Arc::clone(&self.code), self.blobs.clone());
        let code_id = request.code_id.clone();
        // Reading code blocks.
        tokio::task::spawn_blocking(move || {
            let version = code.version_of(&environment, code_id.as_deref())?;
            let task = version.task(&name)?;
            for file in &task.files {
                blobs.store_task_file(file)?;
            }
            Ok((environment, name, task))
        })
        .await
        .expect("reading code does not panic, and blocking tasks are not aborted")
    }
}

/// Checks the limits that every command which makes a job may set.
pub(crate) fn check_limits(
    concurrency: Option<usize>,
    timeout: Option<Duration>,
    rollout: &RolloutOptions,
) -> Result<(), String> {
    if concurrency == Some(0) {
        return Err("a concurrency of 0 would never start anything".to_owned());
    }
    rollout.check().map_err(|problem| problem.to_string())?;
    match timeout {
        Some(Duration::ZERO) => Err("a timeout of 0 would end every run at once".to_owned()),
        Some(timeout) if timeout > RUN_TIMEOUT_MAX => {
            Err("a timeout of more than 30 days is no limit".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks the user name: it is looked up on nodes, and passed to `sudo` over SSH.
fn check_user(request: &TaskRequest) -> Result<(), RunTaskError> {
    let Some(user) = &request.run_as else {
        return Ok(());
    };
    let why = match user.as_str() {
        _ if request.native.as_ref().is_some_and(|it| !it.has_users()) => {
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
    Err(RunTaskError::RunAs { user, why })
}

/// The secret parameters: those that the metadata names, and those that the caller names.
fn sensitive_names(valid: &ValidParams, request: &TaskRequest) -> Vec<String> {
    let mut names = valid.sensitive.clone();
    let more = request
        .sensitive
        .iter()
        .filter(|name| !valid.sensitive.contains(name));
    names.extend(more.cloned());
    names
}

/// The options as stored and shown: as requested, with defaults, without secrets.
fn shown_options(
    request: &TaskRequest,
    nodes: &[Certname],
    valid: &ValidParams,
    sensitive: &[String],
) -> Value {
    let shown = |(name, value): (&String, &Value)| {
        let secret = sensitive.contains(name);
        (
            name.clone(),
            if secret {
                Value::from(REDACTED)
            } else {
                value.clone()
            },
        )
    };
    let params: Map<String, Value> = valid.params.iter().map(shown).collect();
    let native = request
        .native
        .as_ref()
        .map(|it| it.to_shown_params(sensitive));
    let mut options = json!({
        "task": request.task,
        "params": native.unwrap_or(Value::Object(params)),
        "sensitive": sensitive,
        "scope": request.scope.to_shown_value(nodes),
        "noop": request.noop,
        "environment": request.environment,
        "description": request.description,
        "transport": "pxp",
        "concurrency": request.concurrency,
        "timeout": request.timeout.map(|timeout| timeout.as_secs()),
        "scheduled-job-id": request.slot.map(|slot| slot.schedule),
        "plan_job": request.plan_job,
    });
    add_rollout_options(&mut options, &request.rollout);
    if let Some(user) = &request.run_as {
        options["run_as"] = Value::from(user.as_str());
    }
    options
}

/// Adds the options of a rollout, which an engine reads from there after a restart.
pub(crate) fn add_rollout_options(options: &mut Value, rollout: &RolloutOptions) {
    let shown = serde_json::to_value(rollout).expect("numbers and texts always serialise");
    let (Value::Object(options), Value::Object(shown)) = (options, shown) else {
        return;
    };
    options.extend(shown);
}

fn task_params(
    environment: &EnvironmentName,
    name: TaskName,
    task: EnvironmentTask,
    valid: ValidParams,
    noop: bool,
) -> TaskParams {
    let mut input = valid.params;
    // As PE's orchestrator does; an agent also sets `_task` by itself.
    input.insert("_task".to_owned(), Value::from(name.as_str()));
    if noop {
        input.insert("_noop".to_owned(), Value::from(true));
    }
    let file = |file: environments::TaskSourceFile| {
        let params = Map::from_iter([
            (
                "environment".to_owned(),
                Value::from(environment.to_string()),
            ),
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
        task: name,
        input,
        input_method: None,
        metadata: Some(task.metadata.for_agent(Vec::new())),
        files: task.files.into_iter().map(file).collect(),
        features: Vec::new(),
    }
}
