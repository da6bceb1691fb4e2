//! `GET plan_jobs/:id/steps`: the journal of a plan.

use api_types::{Order, Pagination, PlanStep, PlanSteps, PlanStepsQuery, Timestamp};
use axum::Json;
use axum::extract::State;
use serde_json::Value;
use store::{AwaitedAnswer, PlanStepKey, PlanStepListRow};

use super::jobs::find_plan_job;
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters, store_page};

/// The order of the steps: as the plan started them.
const ORDER: &str = "started";

/// A plan that Bolt runs has no steps.
pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(plan_job): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanSteps>, ApiFailure> {
    let query = PlanStepsQuery::read(given)?;
    let job = find_plan_job(&api, &plan_job).await?;
    let page = store_page(query.page);
    let (rows, total) = api
        .store
        .plan_step_list(job.number, query.state, page)
        .await?;
    Ok(Json(PlanSteps {
        items: rows.into_iter().map(|row| step_reply(&base, row)).collect(),
        pagination: Pagination::of(query.page, ORDER, Order::Asc, total),
    }))
}

/// The name of a step, as used by clients.
pub(super) fn step_name(key: &PlanStepKey) -> String {
    match key.branch.as_str() {
        "" => key.step.to_string(),
        branch => format!("{branch}.{}", key.step),
    }
}

fn step_reply(base: &BaseUrl, row: PlanStepListRow) -> PlanStep {
    let sensitive = (row.state == "waiting").then_some(row.asks == AwaitedAnswer::Sealed);
    PlanStep {
        step: step_name(&row.key),
        kind: row.kind,
        site: row.site,
        arguments: serde_json::from_str(&row.arguments).unwrap_or(Value::String(row.arguments)),
        state: row.state,
        job: row.job.map(|job| base.job_url(job)),
        started_timestamp: Timestamp::from_ms(row.begun_ms),
        finished_timestamp: row.ended_ms.map(Timestamp::from_ms),
        until_timestamp: row.until_ms.map(Timestamp::from_ms),
        sensitive,
    }
}
