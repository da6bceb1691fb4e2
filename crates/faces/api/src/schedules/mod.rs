//! Scheduled jobs: `scheduled_jobs/environment_jobs`, and what the clock starts.
//!
//! The rules: who makes a scheduled job has the right to run it at once; only its owner edits it,
//! since it runs with his rights; and when it starts, it goes the way of the command that runs the
//! same thing, asked by its owner at that moment ([`Clockwork`]).

mod check;
mod clockwork;
mod commands;
mod launch;
mod record;
mod refusal;
mod shown;
mod times;
mod write;

use api_types::schedules::{
    ScheduledJob, ScheduledJobList, ScheduledJobsOrder, ScheduledJobsQuery,
};
use api_types::{ApiError, Order, Pagination};
use axum::Json;
use axum::extract::State;
use store::{ScheduleFilter, ScheduleOrder};

use crate::Shared;
use crate::base::Base;
use crate::failure::Failure;
use crate::given::{Given, Variables, store_page};
use crate::owners::{Kept, Owners, owner};

pub use clockwork::Clockwork;

pub(crate) use commands::{delete, schedule_deploy, schedule_plan, schedule_task};
pub(crate) use record::Fired;
pub(crate) use write::{create, update};

/// Starts shown of a single scheduled job.
const UPCOMING: usize = 10;

pub(crate) async fn list(
    State(api): State<Shared>,
    base: Base,
    Given(given): Given,
) -> Result<Json<ScheduledJobList>, Failure> {
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
    let (found, total) = api.schedules.list(&filter, page).await?;
    let owners = Owners::of(&api, found.iter().map(kept).collect()).await?;
    let show = |job: schedules::Scheduled| {
        let owner = owners.get(&kept(&job));
        shown::job(&base, job, owner)
    };
    let items = found.into_iter().map(show).collect();
    let pagination =
        Pagination::of(query.page, query.order_by.as_str(), query.order, total).of_type(query.kind);
    Ok(Json(ScheduledJobList { items, pagination }))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    base: Base,
    Variables(id): Variables<String>,
    Given(given): Given,
) -> Result<Json<ScheduledJob>, Failure> {
    given.finish()?;
    let job = api.schedules.get(number(&id)?).await?;
    let owner = owner(&api, &kept(&job)).await?;
    let upcoming = job.preview(UPCOMING);
    let mut shown = shown::job(&base, job, owner);
    shown.upcoming = upcoming
        .into_iter()
        .map(api_types::Timestamp::from_ms)
        .collect();
    Ok(Json(shown))
}

fn kept(job: &schedules::Scheduled) -> Kept {
    Kept::user(&job.owner, &job.owner_id)
}

/// The number of a scheduled job in a path.
fn number(text: &str) -> Result<i64, ApiError> {
    let number = crate::given::job_number("scheduled job", text)?;
    Ok(number.get())
}
