//! `GET plan_jobs` and `GET plan_jobs/:id`.

use std::collections::BTreeMap;

use api_types::{
    ApiError, JobStatus, Order, Pagination, PlanJob, PlanJobList, PlanJobsQuery, PlanQuestion,
    Timestamp,
};
use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use store::{
    AwaitedAnswer, JobStateRow, PlanJobFilter, PlanJobRow, PlanQuestionRow, PlanStepState, now_ms,
};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::defaults::PLAN_RESULTS_CHARS;
use crate::failure::ApiFailure;
use crate::jobs::{end_of_second, job_order, object, seconds, statuses};
use crate::large_reply::large_reply;
use crate::owners::{OwnerCache, StoredOwner};
use crate::plans::plan_job_error;
use crate::plans::steps::step_name;
use crate::request_parameters::{PathVariables, QueryParameters, job_number, store_page};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    QueryParameters(given): QueryParameters,
) -> Result<Response, ApiFailure> {
    let query = PlanJobsQuery::read(given)?;
    let page = store_page(query.page);
    let mut filter = filter(&query);
    let (mut rows, mut total) = api.store.plan_jobs(&filter, page).await?;
    if query.results {
        check_result_size(&rows)?;
        filter.results = true;
        (rows, total) = api.store.plan_jobs(&filter, page).await?;
    }
    let owners = OwnerCache::load(&api, rows.iter().map(stored_owner).collect()).await?;
    let mut questions = OpenPlanQuestions::load(&api, &rows).await?;
    let items = rows.into_iter().map(|row| {
        let (number, result) = (row.number, row.result.clone());
        let mut item = item(&base, row, &owners);
        item.questions = questions.take_questions(number);
        item.result = query.results.then(|| parse_json(number, result.as_deref()));
        item
    });
    let pagination = Pagination::of(query.page, query.order_by.as_str(), query.order, total);
    large_reply(PlanJobList {
        items: items.collect(),
        pagination,
    })
    .await
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(number): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Response, ApiFailure> {
    given.finish()?;
    let row = find_plan_job(&api, &number).await?;
    let steps = api.store.plan_steps(row.number).await?;
    let owners = OwnerCache::load(&api, vec![stored_owner(&row)]).await?;
    let result = parse_json(row.number, row.result.as_deref());
    let timestamp = Timestamp::from_ms(row.changed_ms);
    let mut questions = OpenPlanQuestions::load(&api, std::slice::from_ref(&row)).await?;
    large_reply(PlanJob {
        questions: questions.take_questions(row.number),
        result: Some(result),
        timestamp: Some(timestamp),
        status: Some(states_by_step(&steps)),
        ..item(&base, row, &owners)
    })
    .await
}

/// Open questions of the plan jobs in a list.
struct OpenPlanQuestions(BTreeMap<i64, Vec<PlanQuestion>>);

impl OpenPlanQuestions {
    async fn load(api: &SharedApiContext, rows: &[PlanJobRow]) -> Result<Self, ApiFailure> {
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

    fn take_questions(&mut self, number: i64) -> Vec<PlanQuestion> {
        self.0.remove(&number).unwrap_or_default()
    }
}

fn question(row: PlanQuestionRow) -> PlanQuestion {
    let arguments: Value = serde_json::from_str(&row.arguments).unwrap_or_default();
    PlanQuestion {
        step: step_name(&row.key),
        prompt: arguments["prompt"].as_str().unwrap_or_default().to_owned(),
        sensitive: row.asks == AwaitedAnswer::Sealed,
        asked_timestamp: Timestamp::from_ms(row.begun_ms),
    }
}

/// The plan job with the number in a path.
pub(crate) async fn find_plan_job(
    api: &SharedApiContext,
    number: &str,
) -> Result<PlanJobRow, ApiFailure> {
    let number = job_number("plan_job", number)?.get();
    let row = api.store.plan_job(number).await?;
    row.ok_or_else(|| plan_job_error(jobs::PlanJobError::Unknown(number)))
}

/// Parses a value stored as JSON.
pub(crate) fn parse_json(number: i64, json: Option<&str>) -> Value {
    let Some(json) = json else {
        return Value::Null;
    };
    decode_errors::json::from_str(json).unwrap_or_else(|error| {
        tracing::error!(number, %error, "the result of this plan job is not JSON in the database");
        Value::Null
    })
}

/// Refuses a list whose results exceed the memory limit.
fn check_result_size(rows: &[PlanJobRow]) -> Result<(), ApiError> {
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

fn stored_owner(row: &PlanJobRow) -> StoredOwner {
    StoredOwner::user(&row.owner, &row.owner_id)
}

/// A plan job as in the list, without its result.
fn item(base: &BaseUrl, row: PlanJobRow, owners: &OwnerCache) -> PlanJob {
    let until = row.finished_ms.unwrap_or_else(now_ms);
    let number = row.number;
    let owner = owners.get(&stored_owner(&row));
    PlanJob {
        id: base.orchestrator_url(&format!("plan_jobs/{number}")),
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

fn states_by_step(states: &[PlanStepState]) -> BTreeMap<String, Vec<JobStatus>> {
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
