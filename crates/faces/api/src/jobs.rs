//! `GET jobs` and `GET jobs/:id`.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::{
    ApiError, EnvironmentRef, Job, JobList, JobRollout, JobStatus, JobsOrder, JobsQuery, Object,
    Order, Pagination, Timestamp, kinds,
};
use axum::Json;
use axum::extract::State;
use serde_json::json;
use store::{JobListFilter, JobNumber, JobOrder, JobRow, JobStateRow, now_ms};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::failure::ApiFailure;
use crate::owners::{OwnerCache, StoredOwner};
use crate::request_parameters::{PathVariables, QueryParameters, job_number, store_page};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    QueryParameters(given): QueryParameters,
) -> Result<Json<JobList>, ApiFailure> {
    let query = JobsQuery::read(given)?;
    let page = store_page(query.page);
    let (rows, total) = api.store.jobs(&filter(&query), page).await?;
    let numbers: Vec<_> = rows.iter().map(|row| row.number).collect();
    let mut states = api.store.node_states(&numbers).await?;
    let logins = rows
        .iter()
        .map(|row| StoredOwner::login(&row.owner))
        .collect();
    let owners = OwnerCache::load(&api, logins).await?;
    let items = rows.into_iter().map(|row| {
        let states = states.remove(&row.number).unwrap_or_default();
        let (elapsed, rollout) = (api.jobs.elapsed(row.number), rollout(&api, &row));
        let shown = job_item(&base, row, states, &owners, elapsed, None);
        Job { rollout, ..shown }
    });
    let pagination =
        Pagination::of(query.page, query.order_by.as_str(), query.order, total).of_type(query.kind);
    Ok(Json(JobList {
        items: items.collect(),
        pagination,
    }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(number): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Job>, ApiFailure> {
    given.finish()?;
    let row = find_job(&api, &number).await?;
    let states = api
        .store
        .node_states(&[row.number])
        .await?
        .remove(&row.number);
    let history = api.store.job_states(row.number).await?;
    let owners = OwnerCache::load(&api, vec![StoredOwner::login(&row.owner)]).await?;
    let (elapsed, rollout) = (api.jobs.elapsed(row.number), rollout(&api, &row));
    let states = states.unwrap_or_default();
    let shown = job_item(&base, row, states, &owners, elapsed, Some(&history));
    Ok(Json(Job { rollout, ..shown }))
}

/// The current batch of a job, if it has batches.
fn rollout(api: &SharedApiContext, row: &JobRow) -> Option<JobRollout> {
    row.rollout.map(|rollout| JobRollout {
        batch: rollout.batch.into(),
        batches: rollout.batches.into(),
        next_batch_timestamp: rollout
            .next_batch_ms
            .map(|steady_ms| Timestamp::from_ms(api.jobs.to_time_of_day(steady_ms))),
    })
}

/// The job with the number in a path.
pub(crate) async fn find_job(api: &SharedApiContext, number: &str) -> Result<JobRow, ApiFailure> {
    let number = job_number("job", number)?;
    Ok(api
        .store
        .job(number)
        .await?
        .ok_or_else(|| unknown_job_error(number))?)
}

pub(crate) fn unknown_job_error(number: JobNumber) -> ApiError {
    let msg = format!(
        "there is no job {number}; it may be old and deleted, and `tutti job list` lists those that are kept"
    );
    ApiError::new(kinds::UNKNOWN_JOB, msg).with("job", json!(number.to_string()))
}

/// Seconds between two times; 0 if the clock went back.
pub(crate) fn seconds(start_ms: i64, end_ms: i64) -> f64 {
    end_ms.saturating_sub(start_ms).max(0) as f64 / 1_000.0
}

fn filter(query: &JobsQuery) -> JobListFilter {
    JobListFilter {
        kind: query.kind.map(str::to_owned),
        task: query.task.clone(),
        owner: query.owner.clone(),
        state: query.state.map(str::to_owned),
        certname: query.node.clone(),
        min_finish_ms: query.min_finish_timestamp.map(Timestamp::as_ms),
        max_finish_ms: query.max_finish_timestamp.map(end_of_second),
        order_by: job_order(query.order_by),
        descending: query.order == Order::Desc,
    }
}

/// The order in the store's type.
pub(crate) fn job_order(asked: JobsOrder) -> JobOrder {
    match asked {
        JobsOrder::Name => JobOrder::Number,
        JobsOrder::Owner => JobOrder::Owner,
        JobsOrder::Timestamp => JobOrder::Changed,
        JobsOrder::Environment => JobOrder::Environment,
        JobsOrder::State => JobOrder::State,
    }
}

/// The end of this second, inclusive: responses show times without milliseconds.
pub(crate) fn end_of_second(time: Timestamp) -> i64 {
    time.as_ms().div_euclid(1_000) * 1_000 + 999
}

/// Duration in seconds as the engine measured it, of a running job (`elapsed`) or an ended one. The
/// two times of day are used only if a restart of the server lost the measurement.
fn duration(row: &JobRow, elapsed: Option<Duration>) -> Option<f64> {
    let started_ms = row.started_ms?;
    let measured = match row.finished_ms {
        Some(_) => row.duration_ms.map(|took_ms| seconds(0, took_ms)),
        None => elapsed.map(|elapsed| elapsed.as_secs_f64()),
    };
    Some(measured.unwrap_or_else(|| seconds(started_ms, row.finished_ms.unwrap_or_else(now_ms))))
}

fn job_item(
    base: &BaseUrl,
    row: JobRow,
    states: BTreeMap<String, u64>,
    owners: &OwnerCache,
    elapsed: Option<Duration>,
    history: Option<&[JobStateRow]>,
) -> Job {
    let address = base.job_url(row.number);
    let duration = duration(&row, elapsed);
    let mut options = object(&row.options);
    // Stored there by the engine, not by the request.
    let trace_id = options.shift_remove("trace_id");
    let part = |name: &str| base.link(&format!("jobs/{}/{name}", row.number));
    Job {
        rollout: None,
        nodes: part("nodes"),
        report: part("report"),
        events: part("events"),
        id: address.id,
        name: address.name,
        options,
        trace_id: trace_id.and_then(|id| id.as_str().map(str::to_owned)),
        userdata: object(&row.userdata),
        owner: owners.get(&StoredOwner::login(&row.owner)),
        environment: EnvironmentRef {
            name: row.environment,
        },
        description: row.description,
        state: row.state,
        command: row.command,
        kind: row.kind,
        timestamp: Timestamp::from_ms(row.changed_ms),
        created_timestamp: Some(Timestamp::from_ms(row.created_ms)),
        started_timestamp: row.started_ms.map(Timestamp::from_ms),
        finished_timestamp: row.finished_ms.map(Timestamp::from_ms),
        duration,
        node_count: row.node_count,
        node_states: (row.node_count > 0).then_some(states),
        status: history.map(statuses),
    }
}

/// Every state with its end, which is the start of the next.
pub(crate) fn statuses(history: &[JobStateRow]) -> Vec<JobStatus> {
    let ends = history
        .iter()
        .skip(1)
        .map(|next| Some(next.enter_ms))
        .chain([None]);
    let status = |(row, end): (&JobStateRow, Option<i64>)| JobStatus {
        state: row.state.clone(),
        enter_time: Timestamp::from_ms(row.enter_ms),
        exit_time: end.map(Timestamp::from_ms),
    };
    history.iter().zip(ends).map(status).collect()
}

pub(crate) fn object(json: &str) -> Object {
    serde_json::from_str(json).unwrap_or_default()
}
