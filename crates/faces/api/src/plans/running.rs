//! `POST command/stop_plan`, `plan_resume` and `plan_answer`: commands on running plans.
//!
//! Invariant: resuming or answering a plan decides what it does next, and needs the permission to
//! run that plan; stopping needs the permission to stop jobs.

use ::plans::{PlanError, StepId};
use api_types::multi_pass::{MULTI_PASS_PLAN, PASSES_FAILED};
use api_types::{
    ApiError, PlanAnswerCommand, PlanResumeCommand, PlanResumed, StopPlanCommand, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use code_deployments::service::{CodeUser, EnvironmentHold};
use serde_json::{Value, json};

use super::commands::{PlanNameReply, parse_plan_job, plan_name_reply};
use super::run::LOCK;
use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::code_manager;
use crate::failure::ApiFailure;
use crate::{puppet_runs, stop};

/// Stops a plan of this server, or the record of one that Bolt runs.
pub(crate) async fn stop(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<StopPlanCommand>,
) -> PlanNameReply {
    let number = parse_plan_job(&command.plan_job)?;
    let login = &caller.0.login;
    match api.plans.stop(number, login, command.jobs).await {
        Ok(()) => {}
        Err(PlanError::Unknown(_)) => {
            let stopped = api.jobs.plan_jobs().stop(number, login).await;
            stopped.map_err(super::plan_job_error)?;
            if command.jobs {
                stop_jobs(&api, number).await?;
            }
        }
        Err(error) => return Err(plan_command_error(error)),
    }
    Ok(plan_name_reply(number))
}

/// Stops the jobs that Bolt started for a plan.
async fn stop_jobs(api: &SharedApiContext, plan_job: i64) -> Result<(), ApiFailure> {
    let states = api.store.plan_steps(plan_job).await?;
    for history in states.chunk_by(|one, next| one.job == next.job) {
        if let Some(state) = history.first() {
            // An ended job stays as it is.
            let stopped = api.jobs.stop(state.job, true).await;
            stopped.map_err(stop::stop_error)?;
        }
    }
    Ok(())
}

pub(crate) async fn resume(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<PlanResumeCommand>,
) -> Result<(StatusCode, Json<PlanResumed>), ApiFailure> {
    let number = parse_plan_job(&command.plan_job)?;
    let from = command.from_step.as_deref();
    let from = from.map(|text| parse_step("from_step", text)).transpose()?;
    may_run(&api, &caller, number).await?;
    refuse_ended_waves(&api, number).await?;
    let hold = hold_plan_environment(&api, number).await?;
    let step = api.plans.resume(number, &caller.0.login, from).await;
    let step = step.map_err(plan_command_error)?;
    if let Some(hold) = hold {
        code_manager::assign_hold(&api, CodeUser::Plan(number), hold).await?;
    }
    let resumed = PlanResumed {
        name: number.to_string(),
        step: step.map(|step| step.to_string()),
    };
    Ok((StatusCode::ACCEPTED, Json(resumed)))
}

/// Refuses to resume repeated runs whose last wave or pass has ended: all their steps are done.
async fn refuse_ended_waves(api: &SharedApiContext, number: i64) -> Result<(), ApiFailure> {
    let row = api.store.plan_job(number).await?;
    let row = row.filter(|row| is_of_puppet_runs(&row.plan));
    let result: Value = match row.and_then(|row| row.result) {
        Some(result) => serde_json::from_str(&result).unwrap_or_default(),
        None => Value::Null,
    };
    let what = match result["kind"].as_str() {
        Some(convergence::NOT_CONVERGED) => {
            "has no step to be repeated: its nodes have not converged; start the runs again"
        }
        Some(PASSES_FAILED) => {
            "has no step to be repeated: its nodes did not succeed; start the runs again"
        }
        _ => return Ok(()),
    };
    Err(ApiError::invalid("plan_job", what).into())
}

/// Holds the environment again if the plan held it before it failed; `None` if it did not.
async fn hold_plan_environment(
    api: &SharedApiContext,
    number: i64,
) -> Result<Option<EnvironmentHold>, ApiFailure> {
    let Some(row) = api.store.plan_job(number).await? else {
        return Ok(None);
    };
    let options: Value = serde_json::from_str(&row.options).unwrap_or_default();
    match options["code"] == LOCK {
        true => Ok(Some(
            code_manager::hold_environment(api, &row.environment)
                .await?
                .0,
        )),
        false => Ok(None),
    }
}

pub(crate) async fn answer(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<PlanAnswerCommand>,
) -> PlanNameReply {
    let number = parse_plan_job(&command.plan_job)?;
    let step = parse_step("step", &command.step)?;
    may_run(&api, &caller, number).await?;
    let (login, answer) = (&caller.0.login, &command.answer);
    let answered = api
        .plans
        .answer(number, step, login, answer, command.sensitive);
    answered.await.map_err(plan_command_error)?;
    Ok(plan_name_reply(number))
}

/// True for the server's own plans, whose right is that to run Puppet.
fn is_of_puppet_runs(plan: &str) -> bool {
    [convergence::CONVERGENCE_PLAN, MULTI_PASS_PLAN].contains(&plan)
}

/// Refuses a caller who may not run the plan of this plan job.
async fn may_run(
    api: &SharedApiContext,
    caller: &ApiCaller,
    number: i64,
) -> Result<(), ApiFailure> {
    let row = api.store.plan_job(number).await?;
    let row = row.ok_or_else(|| plan_command_error(PlanError::Unknown(number)))?;
    match is_of_puppet_runs(&row.plan) {
        true => puppet_runs::may_run(api, caller),
        false => super::demand(api, caller, &row.plan, &row.environment),
    }
}

fn parse_step(place: &str, text: &str) -> Result<StepId, ApiError> {
    text.parse()
        .map_err(|error| ApiError::invalid(place, error))
}

/// The error for a command that did not change a plan.
pub(super) fn plan_command_error(error: PlanError) -> ApiFailure {
    let text = error.to_string();
    let (kind, number, step) = match error {
        PlanError::Unknown(number) => (kinds::UNKNOWN_JOB, number, None),
        PlanError::Finished { number, .. } => (kinds::PLAN_FINISHED, number, None),
        PlanError::NotFailed { number, .. } => (kinds::PLAN_NOT_FAILED, number, None),
        PlanError::Preview(number) => (kinds::PLAN_PREVIEW, number, None),
        PlanError::UnknownStep { plan, step } => (kinds::UNKNOWN_STEP, plan, Some(step)),
        PlanError::NotAsked { plan, step } => (kinds::NOT_ASKED, plan, Some(step)),
        PlanError::TooMany(plans) => {
            let refused = ApiError::new(kinds::TOO_MANY_PLANS, text);
            return refused.with("plans", json!(plans)).into();
        }
        PlanError::ShuttingDown => return ApiError::new(kinds::UNAVAILABLE, text).into(),
        error => return ApiFailure::internal("do this with the plan", &error),
    };
    let mut refused = ApiError::new(kind, text).with("plan_job", json!(number.to_string()));
    if let Some(step) = step {
        refused = refused.with("step", json!(step.to_string()));
    }
    ApiFailure(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_kind() {
        let step = || "2.1".parse().unwrap();
        let state = || "success".to_owned();
        let (number, plan) = (7, 7);
        for (error, status, kind) in [
            (PlanError::TooMany(9), 503, "tutti/too-many-plans"),
            (PlanError::Preview(7), 409, "tutti/plan-preview"),
            (
                PlanError::Unknown(7),
                404,
                "puppetlabs.orchestrator/unknown-job",
            ),
            (
                PlanError::Finished {
                    number,
                    state: state(),
                },
                409,
                "puppetlabs.orchestrator/plan-already-finished",
            ),
            (
                PlanError::NotFailed {
                    number,
                    state: state(),
                },
                409,
                "tutti/plan-not-failed",
            ),
            (
                PlanError::UnknownStep { plan, step: step() },
                404,
                "tutti/unknown-step",
            ),
            (
                PlanError::NotAsked { plan, step: step() },
                409,
                "tutti/not-asked",
            ),
            (
                PlanError::ShuttingDown,
                503,
                "puppetlabs.orchestrator/service-unavailable",
            ),
        ] {
            let ApiFailure(told) = plan_command_error(error);
            assert_eq!((told.status, told.body.kind.as_str()), (status, kind));
        }
    }
}
