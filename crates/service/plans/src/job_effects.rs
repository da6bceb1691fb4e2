//! Effects performed by the job engine. Main type: [`JobPlanEffects`].
//!
//! Invariants: an outcome is read from the rows that the job engine wrote, so it is the same at
//! each reading; the `_sensitive` part of a task's output is in the outcome, and in nothing that is
//! stored readably or shown; and a job that may or may not have been created is looked up in the
//! journal, not created again.

use std::collections::HashMap;
use std::fmt;

use async_trait::async_trait;
use environments::CodeError;
use jobs::{
    DEPLOY, JobPlanStep, JobSpec, JobSubmitError, Jobs, PlanJobError, ReturnedSecret, RunJobError,
    SENSITIVE,
};
use partial_debug::partial_debug;
use serde_json::{Value, json};
use store::{JobNumber, JobRow, PlanJournalWrite, RunRow, Store, StoreError};

use crate::defaults::RESULTS_PAGE;
use crate::effects::{JobOutcomeError, JobStartError, PlanActor, PlanEffects};
use crate::step::StepOutcome;

/// [`PlanEffects`] over the job engine.
#[derive(Clone)]
pub struct JobPlanEffects {
    jobs: Jobs,
    store: Store,
}

// === impl JobPlanEffects ===

impl JobPlanEffects {
    /// Creates effects over this job engine and the store that it writes to.
    pub fn new(jobs: Jobs, store: Store) -> Self {
        Self { jobs, store }
    }

    /// Returns the sensitive output by certname; most nodes have none.
    async fn secrets(
        &self,
        job: &JobRow,
        runs: &[RunRow],
    ) -> Result<HashMap<String, ReturnedSecret>, StoreError> {
        let marked = |run: &RunRow| run.result.as_ref().is_some_and(|it| it.contains(SENSITIVE));
        match runs.iter().any(marked) {
            true => self.jobs.secrets(job.number, runs).await,
            false => Ok(HashMap::new()),
        }
    }

    async fn results(&self, row: &JobRow) -> Result<Vec<Value>, StoreError> {
        let (mut results, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.store.runs_after(row.number, &after, RESULTS_PAGE);
            let runs = page.await?;
            let last = runs.len() < RESULTS_PAGE;
            if let Some(run) = runs.last() {
                after.clone_from(&run.certname);
            }
            let mut secrets = self.secrets(row, &runs).await?;
            results.extend(runs.into_iter().map(|run| {
                let secret = secrets.remove(&run.certname);
                result(row, run, secret)
            }));
            if last {
                return Ok(results);
            }
        }
    }
}

#[async_trait]
impl PlanEffects for JobPlanEffects {
    async fn start(
        &self,
        actor: &PlanActor,
        mut spec: JobSpec,
        mark: PlanJournalWrite,
    ) -> Result<JobNumber, JobStartError> {
        if let Some(task) = spec.work.task_mut()
            && task.environment.as_str() == actor.environment
        {
            task.code_id.clone_from(&actor.code_id);
        }
        spec.owner.clone_from(&actor.owner);
        spec.owner_id.clone_from(&actor.owner_id);
        spec.plan_step = Some(JobPlanStep {
            plan_job: actor.plan_job,
            mark: Some(mark),
            after_restart: actor.from_before,
        });
        let started = Box::pin(self.jobs.run(spec)).await;
        started.map_err(job_not_started)
    }

    /// Returns `{job, state, results: [{target, action, object, status, value}]}`, ordered by
    /// certname.
    async fn outcome(&self, job: JobNumber) -> Result<StepOutcome, JobOutcomeError> {
        let not_known = |error: StoreError| JobOutcomeError(error.to_string());
        let over = self.jobs.wait_until_over(job).await;
        over.map_err(|error| JobOutcomeError(error.to_string()))?;
        let row = self.store.job(job).await.map_err(not_known)?;
        let row = row.ok_or_else(|| JobOutcomeError(format!("there is no job {job}")))?;
        if row.finished_ms.is_none() {
            return Err(JobOutcomeError(format!("job {job} is not over yet")));
        }
        let results = self.results(&row).await.map_err(not_known)?;
        let value = json!({"job": job.to_string(), "state": row.state, "results": results});
        Ok(match row.state.as_str() {
            "finished" => StepOutcome::ok(value),
            _ => StepOutcome::failed(value),
        })
    }

    async fn stop(&self, job: JobNumber) {
        if let Err(error) = self.jobs.stop(job, true).await {
            tracing::warn!(%job, %error, "a job of a stopped plan was not stopped");
        }
    }
}

/// Converts a node's result for plans, with the sealed part of its output added.
fn result(job: &JobRow, run: RunRow, secret: Option<ReturnedSecret>) -> Value {
    let value = run.result.as_deref().map(serde_json::from_str);
    let mut value = value.and_then(Result::ok).unwrap_or(Value::Null);
    let mut ok = run.state == "finished";
    if !ok
        && job.command == DEPLOY
        && let Some(error) = puppet_run_error(&run, &value)
    {
        value["_error"] = error;
    }
    match (secret, &mut value) {
        (Some(ReturnedSecret::Open(secret)), Value::Object(value)) => {
            value.insert(SENSITIVE.to_owned(), secret);
        }
        (Some(_), value) => {
            ok = false;
            *value = json!({"_error": unreadable_secret_result(job, &run.certname)});
        }
        (None, _) => {}
    }
    let status = if ok { "success" } else { "failure" };
    json!({
        "target": run.certname,
        "action": job.command,
        "object": job.task,
        "status": status,
        "value": value,
    })
}

/// The error of a run of Puppet that left a report and failed; such a result has none of its own.
fn puppet_run_error(run: &RunRow, value: &Value) -> Option<Value> {
    if !value.is_object()
        || value.get("_error").is_some()
        || value.get("transaction_uuid").is_none()
    {
        return None;
    }
    let details: Option<Value> = serde_json::from_str(run.details.as_deref()?).ok();
    let msg = details?.get("message")?.as_str()?.to_owned();
    Some(json!({"kind": PUPPET_RUN_FAILED, "msg": msg, "details": {}}))
}

fn unreadable_secret_result(job: &JobRow, certname: &str) -> Value {
    let number = job.number;
    let msg = format!(
        "what {certname} marked as `_sensitive` in job {number} cannot be unsealed: it was sealed with \
         another seal key, or altered; put the server's seal key back, or run the plan again"
    );
    json!({"kind": "tutti/secret-unreadable", "msg": msg, "details": {}})
}

fn job_not_started(error: RunJobError) -> JobStartError {
    match error {
        RunJobError::Submit(error) => not_submitted(error),
        RunJobError::Plan(PlanJobError::Store(error)) => not_stored(&error),
        error => JobStartError::Refused(task_refusal_error(&error)),
    }
}

/// The error kind of a run of Puppet that failed.
const PUPPET_RUN_FAILED: &str = "tutti/puppet-run-failed";

/// The issue code of parameters that do not fit a task.
pub const WRONG_PARAMETERS: &str = "TYPE_MISMATCH";
pub const NOOP_UNSUPPORTED: &str = "TASK_NO_NOOP";

/// Returns the error of a plan whose task cannot be run as requested.
pub fn task_refusal_error(error: &RunJobError) -> Value {
    let (kind, issue_code) = match error {
        RunJobError::Code(CodeError::UnknownTask { .. }) => ("bolt/unknown-task", None),
        RunJobError::Parameters { .. } => ("bolt/validation-error", Some(WRONG_PARAMETERS)),
        RunJobError::NoopUnsupported(_) => {
            let kind = "puppetlabs.orchestrator/validation-error";
            (kind, Some(NOOP_UNSUPPORTED))
        }
        _ => ("puppetlabs.orchestrator/validation-error", None),
    };
    let mut told = json!({"kind": kind, "msg": error.to_string(), "details": {}});
    if let Some(code) = issue_code {
        told["issue_code"] = json!(code);
    }
    told
}

fn not_submitted(error: JobSubmitError) -> JobStartError {
    match error {
        JobSubmitError::Store(error) => not_stored(&error),
        JobSubmitError::ShuttingDown => JobStartError::ShuttingDown,
        error => JobStartError::Unavailable(error.to_string()),
    }
}

fn not_stored(error: &StoreError) -> JobStartError {
    match error {
        // Either the plan has ended, which the engine detects next, or this is a bug, and a retry
        // would loop.
        StoreError::Refused(_) => job_refusal("tutti/not-stored", error),
        error => JobStartError::Unavailable(error.to_string()),
    }
}

fn job_refusal(kind: &str, error: &impl fmt::Display) -> JobStartError {
    JobStartError::Refused(json!({"kind": kind, "msg": error.to_string(), "details": {}}))
}

partial_debug!(JobPlanEffects {});
