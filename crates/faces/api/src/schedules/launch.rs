//! Launches scheduled jobs: [`Launcher`].
//!
//! Invariant: a slot runs the same command that its owner would send at that moment, with the same
//! checks and errors. If the owner is revoked, deleted, missing in the directory, or has lost a
//! permission, the result is a submission error, never a run.

use std::sync::{Arc, Weak};

use api_types::schedules::ScheduledInput;
use api_types::{ApiError, ErrorBody, kinds};
use async_trait::async_trait;
use rbac::UserIdentity;
use schedules::{JobLauncher, SlotJob, SubmissionError};
use serde_json::json;
use store::{LaunchedJob, SlotKey};
use tokio::sync::SetOnce;

use super::responses::shown_kind;
use super::write::whole_input;
use crate::Shared;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::state::ApiContext;
use crate::{plans, puppet_runs, task};

/// Creates jobs for the schedules. Created before the router and bound to it later; until then
/// slots wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Launcher {
    api: Arc<SetOnce<Weak<ApiContext>>>,
}

impl Launcher {
    pub(super) fn bind(&self, api: &Shared) {
        // Routers over the same engines are equivalent, so the first one is kept.
        let _ = self.api.set(Arc::downgrade(api));
    }
}

#[async_trait]
impl JobLauncher for Launcher {
    async fn launch(&self, job: &SlotJob, slot: SlotKey) -> Result<LaunchedJob, SubmissionError> {
        let Some(api) = self.api.wait().await.upgrade() else {
            let msg = "the server is shutting down; nothing was started";
            return Err(told(ApiError::new(kinds::UNAVAILABLE, msg).into()));
        };
        Box::pin(launch(&api, job, slot)).await.map_err(told)
    }
}

async fn launch(api: &Shared, job: &SlotJob, slot: SlotKey) -> Result<LaunchedJob, Failure> {
    let caller = Caller(Arc::new(owner(api, job).await?));
    let input = whole_input(job.kind, &job.name, &job.input, &job.secrets);
    let kind = shown_kind(job.kind);
    let input = ScheduledInput::read(
        kind,
        input,
        &job.environment,
        &job.description,
        &job.userdata,
    )?;
    match input {
        ScheduledInput::Task(command) => {
            let (mut request, dropped) = Box::pin(task::prepared(api, &caller, *command)).await?;
            if !dropped.is_empty() {
                let nodes = dropped.len();
                tracing::warn!(
                    schedule = job.id,
                    nodes,
                    "its owner may not run it on some nodes"
                );
            }
            request.sensitive.clone_from(&job.sensitive);
            request.slot = Some(slot);
            task::started(api, request).await.map(LaunchedJob::Job)
        }
        ScheduledInput::Deploy(command) => {
            puppet_runs::may_run(api, &caller)?;
            let code = command.code;
            let mut request = puppet_runs::request(api, &caller, *command)?;
            request.slot = Some(slot);
            let started = puppet_runs::started(api, request, code).await;
            started.map(LaunchedJob::Job)
        }
        ScheduledInput::Plan(command) => {
            let mut request = plans::run::prepared(api, &caller, *command).await?;
            request.add_sensitive(&job.sensitive);
            request.set_slot(slot);
            let started = plans::run::start(api, request).await;
            started.map(LaunchedJob::Plan)
        }
    }
}

/// The owner with current permissions.
async fn owner(api: &Shared, job: &SlotJob) -> Result<UserIdentity, Failure> {
    let gone = |what: &str| {
        let msg = format!(
            "the owner {} of the scheduled job {what}; nothing was started",
            job.owner
        );
        ApiError::new(kinds::NOT_PERMITTED, msg).with("owner", json!(job.owner))
    };
    let row = api.store.user(&job.owner_id).await?;
    let row = row.ok_or_else(|| gone("does not exist any more"))?;
    if row.is_revoked {
        return Err(gone("is revoked").into());
    }
    if row.is_remote && api.access.is_remote_user_gone(&row.id).await? {
        return Err(gone("is not in its directory any more").into());
    }
    let identity = api.access.load_identity(&job.owner_id).await;
    identity.map_err(|error| match error {
        rbac::ManageError::Store(error) => error.into(),
        _ => gone("does not exist any more").into(),
    })
}

fn told(Failure(error): Failure) -> SubmissionError {
    let ErrorBody { kind, msg, details } = *error.body;
    SubmissionError { kind, msg, details }
}
