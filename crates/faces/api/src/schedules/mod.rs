//! Scheduled jobs: `scheduled_jobs/environment_jobs`, and their launch.
//!
//! Invariants: creating a scheduled job needs the permission to run it at once; only its owner can
//! edit it, since it runs with the owner's permissions; and when it starts, it runs as the command
//! for the same action, sent by its owner at that moment
//! ([`ScheduleLauncher`](launcher::ScheduleLauncher)).

mod check;
mod commands;
mod launch;
mod launch_audit;
mod launcher;
mod refusal;
mod responses;
mod scheduler;
mod times;
mod write;

use api_types::schedules::{
    ScheduledJob, ScheduledJobList, ScheduledJobsOrder, ScheduledJobsQuery,
};
use api_types::{ApiError, Order, Pagination};
use axum::Json;
use axum::extract::State;
use store::{ScheduleFilter, ScheduleOrder};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::failure::ApiFailure;
use crate::owners::{OwnerCache, StoredOwner, owner};
use crate::request_parameters::{PathVariables, QueryParameters, store_page};

pub use scheduler::JobScheduler;

pub(crate) use commands::{delete, schedule_deploy, schedule_plan, schedule_task};
pub(crate) use write::{create, update};

/// Next starts shown with a single scheduled job.
const UPCOMING: usize = 10;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ScheduledJobList>, ApiFailure> {
    let query = ScheduledJobsQuery::read(given)?;
    let page = store_page(query.page);
    let filter = ScheduleFilter {
        kind: query.kind.map(str::to_owned),
        order_by: match query.order_by {
            ScheduledJobsOrder::NextRunTime => ScheduleOrder::NextRun,
            ScheduledJobsOrder::Environment => ScheduleOrder::Environment,
            ScheduledJobsOrder::Owner => ScheduleOrder::Owner,
            ScheduledJobsOrder::Name => ScheduleOrder::Name,
            ScheduledJobsOrder::Type => ScheduleOrder::Kind,
        },
        descending: query.order == Order::Desc,
    };
    let (found, total) = api.scheduler.schedules.list(&filter, page).await?;
    let owners = OwnerCache::load(&api, found.iter().map(stored_owner).collect()).await?;
    let show = |job: schedules::ScheduleView| {
        let owner = owners.get(&stored_owner(&job));
        responses::job(&base, job, owner)
    };
    let items = found.into_iter().map(show).collect();
    let pagination =
        Pagination::of(query.page, query.order_by.as_str(), query.order, total).of_type(query.kind);
    Ok(Json(ScheduledJobList { items, pagination }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ScheduledJob>, ApiFailure> {
    given.finish()?;
    let job = api
        .scheduler
        .schedules
        .get(parse_schedule_number(&id)?)
        .await?;
    let owner = owner(&api, &stored_owner(&job)).await?;
    let upcoming = job.preview(UPCOMING);
    let mut shown = responses::job(&base, job, owner);
    shown.upcoming = upcoming
        .into_iter()
        .map(api_types::Timestamp::from_ms)
        .collect();
    Ok(Json(shown))
}

fn stored_owner(job: &schedules::ScheduleView) -> StoredOwner {
    StoredOwner::user(&job.owner, &job.owner_id)
}

/// Parses the number of a scheduled job in a path.
fn parse_schedule_number(text: &str) -> Result<i64, ApiError> {
    let number = crate::request_parameters::job_number("scheduled job", text)?;
    Ok(number.get())
}
