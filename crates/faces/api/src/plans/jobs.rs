//! `GET plan_jobs` and `GET plan_jobs/:id`.

use std::collections::BTreeMap;

use api_types::{
    ApiError, JobStatus, Order, Pagination, PlanJob, PlanJobList, PlanJobsQuery, PlanQuestion,
    Timestamp,
};
use axum::Json;
use axum::extract::State;
use serde_json::Value;
use store::{Asks, JobStateRow, PlanJobFilter, PlanJobRow, PlanQuestionRow, PlanStepState};

use crate::Shared;
use crate::base::BaseUrl;
use crate::defaults::PLAN_RESULTS_CHARS;
use crate::failure::Failure;
use crate::jobs::{end_of_second, job_order, object, seconds, statuses};
use crate::owners::{Owners, StoredOwner};
use crate::plans::refusal;
use crate::plans::steps::step_name;
use crate::request_parameters::{PathVariables, QueryParameters, job_number, store_page};

pub(crate) async fn list(
    State(api): State<Shared>,
    base: BaseUrl,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanJobList>, Failure> {
    let query = PlanJobsQuery::read(given)?;
    let page = store_page(query.page);
    let mut filter = filter(&query);
    let (mut rows, mut total) = api.store.plan_jobs(&filter, page).await?;
    if query.results {
        bounded(&rows)?;
        filter.results = true;
        (rows, total) = api.store.plan_jobs(&filter, page).await?;
    }
    let owners = Owners::of(&api, rows.iter().map(kept).collect()).await?;
    let mut questions = Questions::of(&api, &rows).await?;
    let items = rows.into_iter().map(|row| {
        let (number, result) = (row.number, row.result.clone());
        let mut item = item(&base, row, &owners);
        item.questions = questions.take(number);
        item.result = query.results.then(|| parsed(number, result.as_deref()));
        item
    });
    let pagination = Pagination::of(query.page, query.order_by.as_str(), query.order, total);
    Ok(Json(PlanJobList {
        items: items.collect(),
        pagination,
    }))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    base: BaseUrl,
    PathVariables(number): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanJob>, Failure> {
    given.finish()?;
    let row = existing(&api, &number).await?;
    let steps = api.store.plan_steps(row.number).await?;
    let owners = Owners::of(&api, vec![kept(&row)]).await?;
    let result = parsed(row.number, row.result.as_deref());
    let timestamp = Timestamp::from_ms(row.changed_ms);
    let mut questions = Questions::of(&api, std::slice::from_ref(&row)).await?;
    Ok(Json(PlanJob {
        questions: questions.take(row.number),
        result: Some(result),
        timestamp: Some(timestamp),
        status: Some(by_step(&steps)),
        ..item(&base, row, &owners)
    }))
}

/// Open questions of the plan jobs in a list.
struct Questions(BTreeMap<i64, Vec<PlanQuestion>>);

impl Questions {
    async fn of(api: &Shared, rows: &[PlanJobRow]) -> Result<Self, Failure> {
        let running = rows.iter().filter(|row| row.finished_ms.is_none());
        let numbers: Vec<i64> = running.map(|row| row.number).collect();
        let mut by_plan = BTreeMap::<_, Vec<_>>::new();
        let range = numbers.iter().min().zip(numbers.iter().max());
        if let Some((first, last)) = range {
            for row in api.store.plan_questions(*first, *last).await? {
                by_plan.entry(row.plan_job).or_default().push(question(row));
            }
        }
        Ok(Self(by_plan))
    }

    fn take(&mut self, number: i64) -> Vec<PlanQuestion> {
        self.0.remove(&number).unwrap_or_default()
    }
}

fn question(row: PlanQuestionRow) -> PlanQuestion {
    let arguments: Value = serde_json::from_str(&row.arguments).unwrap_or_default();
    PlanQuestion {
        step: step_name(&row.key),
        prompt: arguments["prompt"].as_str().unwrap_or_default().to_owned(),
        sensitive: row.asks == Asks::Secretly,
        asked_timestamp: Timestamp::from_ms(row.begun_ms),
    }
}

/// The plan job with the number in a path.
pub(crate) async fn existing(api: &Shared, number: &str) -> Result<PlanJobRow, Failure> {
    let number = job_number("plan_job", number)?.get();
    let row = api.store.plan_job(number).await?;
    row.ok_or_else(|| refusal(jobs::PlanJobError::Unknown(number)))
}

/// Parses a value stored as JSON.
pub(crate) fn parsed(number: i64, json: Option<&str>) -> Value {
    let Some(json) = json else {
        return Value::Null;
    };
    decode_errors::json::from_str(json).unwrap_or_else(|error| {
        tracing::error!(number, %error, "the result of this plan job is not JSON in the database");
        Value::Null
    })
}

/// Refuses a list whose results exceed the memory limit.
fn bounded(rows: &[PlanJobRow]) -> Result<(), ApiError> {
    let chars: u64 = rows.iter().map(|row| row.result_chars).sum();
    if chars <= PLAN_RESULTS_CHARS {
        return Ok(());
    }
    let what = format!(
        "the results of these plan jobs have {chars} characters together, more than \
         {PLAN_RESULTS_CHARS}: ask for fewer, or with results=exclude"
    );
    Err(ApiError::invalid("limit", what))
}

fn filter(query: &PlanJobsQuery) -> PlanJobFilter {
    PlanJobFilter {
        min_finish_ms: query.min_finish_timestamp.map(Timestamp::as_ms),
        max_finish_ms: query.max_finish_timestamp.map(end_of_second),
        order_by: job_order(query.order_by),
        descending: query.order == Order::Desc,
        results: false,
    }
}

fn kept(row: &PlanJobRow) -> StoredOwner {
    StoredOwner::user(&row.owner, &row.owner_id)
}

/// A plan job as in the list, without its result.
fn item(base: &BaseUrl, row: PlanJobRow, owners: &Owners) -> PlanJob {
    let now = || jiff::Timestamp::now().as_millisecond();
    let until = row.finished_ms.unwrap_or_else(now);
    let number = row.number;
    let owner = owners.get(&kept(&row));
    PlanJob {
        id: base.at(&format!("plan_jobs/{number}")),
        name: number.to_string(),
        state: row.state,
        questions: Vec::new(),
        options: object(&row.options),
        result: None,
        owner,
        timestamp: None,
        created_timestamp: Timestamp::from_ms(row.created_ms),
        finished_timestamp: row.finished_ms.map(Timestamp::from_ms),
        duration: Some(seconds(row.created_ms, until)),
        events: base.link(&format!("plan_jobs/{number}/events")),
        userdata: object(&row.userdata),
        status: None,
    }
}

fn by_step(states: &[PlanStepState]) -> BTreeMap<String, Vec<JobStatus>> {
    let steps = states.chunk_by(|one, next| one.job == next.job);
    let history = |state: &PlanStepState| JobStateRow {
        state: state.state.clone(),
        enter_ms: state.enter_ms,
    };
    steps
        .filter_map(|states| {
            let rows: Vec<_> = states.iter().map(history).collect();
            Some((states.first()?.job.to_string(), statuses(&rows)))
        })
        .collect()
}
