//! Launches scheduled jobs: the work of [`ScheduleLauncher`].
//!
//! Invariant: a slot runs the same command that its owner would send at that moment, with the same
//! checks and errors. If the owner is revoked, deleted, missing in the directory, or has lost a
//! permission, the result is a submission error, never a run.

use std::sync::Arc;

use api_types::schedules::ScheduledInput;
use api_types::{ApiError, ErrorBody, kinds};
use async_trait::async_trait;
use rbac::UserIdentity;
use schedules::{JobLauncher, SlotJob, SubmissionError};
use serde_json::json;
use store::{LaunchedJob, SlotKey};

use super::launcher::ScheduleLauncher;
use super::responses::schedule_type;
use super::write::join_input;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::converge::prepare_waves;
use crate::failure::ApiFailure;
use crate::job_specs::create_job;
use crate::multi_pass::prepare_passes;
use crate::{plans, puppet_runs, task};

#[async_trait]
impl JobLauncher for ScheduleLauncher {
    async fn launch(&self, job: &SlotJob, slot: SlotKey) -> Result<LaunchedJob, SubmissionError> {
        let Some(api) = self.context().await else {
            let msg = "the server is shutting down; nothing was started";
            return Err(to_submission_error(
                ApiError::new(kinds::UNAVAILABLE, msg).into(),
            ));
        };
        Box::pin(launch(&api, job, slot))
            .await
            .map_err(to_submission_error)
    }
}

async fn launch(
    api: &SharedApiContext,
    job: &SlotJob,
    slot: SlotKey,
) -> Result<LaunchedJob, ApiFailure> {
    let caller = ApiCaller(Arc::new(owner(api, job).await?));
    let input = join_input(job.kind, &job.name, &job.input, &job.secrets);
    let kind = schedule_type(job.kind);
    let input = ScheduledInput::read(
        kind,
        input,
        &job.environment,
        &job.description,
        &job.userdata,
    )?;
    match input {
        ScheduledInput::Task(command) => {
            let (mut spec, dropped) = Box::pin(task::prepare_task(api, &caller, *command)).await?;
            if !dropped.is_empty() {
                let nodes = dropped.len();
                tracing::warn!(
                    schedule = job.id,
                    nodes,
                    "its owner may not run it on some nodes"
                );
            }
            if let Some(task) = spec.work.task_mut() {
                task.sensitive.clone_from(&job.sensitive);
            }
            spec.slot = Some(slot);
            create_job(api, spec).await.map(LaunchedJob::Job)
        }
        ScheduledInput::Deploy(command) => {
            puppet_runs::may_run(api, &caller)?;
            let code = puppet_runs::RequestedCode::of(&command);
            let mut spec = puppet_runs::request(api, &caller, *command)?;
            spec.slot = Some(slot);
            let started = puppet_runs::create_job(api, spec, code).await;
            started.map(LaunchedJob::Job)
        }
        ScheduledInput::Converge(command) => {
            puppet_runs::may_run(api, &caller)?;
            let plan = Box::pin(prepare_waves(api, &caller, &command)).await?;
            let started = plan.of_slot(slot).start(api).await;
            started.map(LaunchedJob::Plan)
        }
        ScheduledInput::MultiPass(command) => {
            puppet_runs::may_run(api, &caller)?;
            let plan = Box::pin(prepare_passes(api, &caller, &command.deploy)).await?;
            let started = plan.of_slot(slot).start(api).await;
            started.map(LaunchedJob::Plan)
        }
        ScheduledInput::Plan(command) => {
            let mut request = plans::run::prepare_plan(api, &caller, *command).await?;
            request.add_sensitive(&job.sensitive);
            request.set_slot(slot);
            let started = plans::run::start(api, request).await;
            started.map(LaunchedJob::Plan)
        }
    }
}

/// The owner with current permissions.
async fn owner(api: &SharedApiContext, job: &SlotJob) -> Result<UserIdentity, ApiFailure> {
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

fn to_submission_error(ApiFailure(error): ApiFailure) -> SubmissionError {
    let ErrorBody { kind, msg, details } = *error.body;
    SubmissionError { kind, msg, details }
}
