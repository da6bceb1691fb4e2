//! Plans and plan jobs.
//!
//! This server keeps the record of plans that Bolt runs; it has no plans of its own, and says so:
//! the list of plans is empty, and every plan asked for is unknown.

pub(crate) mod commands;
pub(crate) mod events;
pub(crate) mod jobs;

use std::sync::Arc;

use ::jobs::PlanJobError;
use api_types::plans::{PlanDetail, PlanList, check_plan_name};
use api_types::tasks::TasksQuery;
use api_types::{ApiError, EnvironmentCode, kinds};
use axum::Json;
use axum::extract::State;
use deploy::EnvironmentName;
use serde_json::json;

use crate::Shared;
use crate::failure::Failure;
use crate::given::{Given, Variables};
use crate::tasks::code_refusal;

pub(crate) async fn list(
    State(api): State<Shared>,
    Given(given): Given,
) -> Result<Json<PlanList>, Failure> {
    let environment = environment(&api, &TasksQuery::read(given)?.environment).await?;
    let items = Vec::new();
    Ok(Json(PlanList { environment, items }))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    Variables((module, plan)): Variables<(String, String)>,
    Given(given): Given,
) -> Result<Json<PlanDetail>, Failure> {
    let query = TasksQuery::read(given)?;
    let name = match plan.as_str() {
        "init" => module,
        _ => format!("{module}::{plan}"),
    };
    check_plan_name("plan", &name)?;
    let environment = environment(&api, &query.environment).await?;
    Err(unknown(&name, &environment.name).into())
}

/// An environment that is there, and its code.
pub(crate) async fn environment(api: &Shared, name: &str) -> Result<EnvironmentCode, Failure> {
    let parsed = name.parse();
    let name: EnvironmentName = parsed.map_err(|error| ApiError::invalid("environment", error))?;
    let code = Arc::clone(&api.code);
    let reading = tokio::task::spawn_blocking(move || {
        let version = code.version(&name)?;
        Ok(EnvironmentCode {
            name: name.to_string(),
            code_id: version.code_id().map(str::to_owned),
        })
    });
    let read = reading
        .await
        .map_err(|error| Failure::internal("read the code", &error))?;
    read.map_err(code_refusal)
}

pub(crate) fn unknown(plan: &str, environment: &str) -> ApiError {
    let msg = format!(
        "there is no plan `{plan}` in the environment `{environment}`: this server runs no plans \
         itself; run it with Bolt over the pcp transport"
    );
    ApiError::new(kinds::UNKNOWN_PLAN, msg)
        .with("plan", json!(plan))
        .with("environment", json!(environment))
}

/// What a client is told when a plan job was left as it is.
pub(crate) fn refusal(error: PlanJobError) -> Failure {
    let text = error.to_string();
    let (kind, number) = match error {
        PlanJobError::Unknown(number) => (kinds::UNKNOWN_JOB, number),
        PlanJobError::Finished { number, .. } => (kinds::PLAN_FINISHED, number),
        PlanJobError::NotOwner { number, .. } => (kinds::NOT_PERMITTED, number),
        PlanJobError::Store(error) => return Failure::internal("write the plan job down", &error),
        error => return Failure::internal("write the plan job down", &error),
    };
    let refused = ApiError::new(kind, text);
    Failure(refused.with("plan_job", json!(number.to_string())))
}
