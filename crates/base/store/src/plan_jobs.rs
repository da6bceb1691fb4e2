//! Plan jobs: plans that run on this server or in an external Bolt, and the jobs that are their
//! steps.
//!
//! Invariants of [`PlanJobRow`]: numbers are contiguous and never used again; a plan job that is
//! over never changes and gets no more steps, since the job of a step is refused in its own
//! transaction.

use crate::defaults::PRUNE_JOBS;
use crate::job_order::{JobOrder, pages};
use crate::page::{ListPage, ordered_statement};
use crate::rows::row;
use crate::run_secrets;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ToValues as _, values};
use crate::writing::plan_events::{self, NewPlanEvent};
use crate::{JobNumber, StoreError};

row! {
    /// A plan job that is not written yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewPlanJob {
        /// Unique id of the request.
        pub request_id: String,
        /// Name of the plan.
        pub plan: String,
        /// Name of the environment; may be empty.
        pub environment: String,
        /// Options of the request as JSON, without secrets.
        pub options: String,
        /// Data given by the user, as JSON.
        pub userdata: String,
        /// Login of the owner.
        pub owner: String,
        /// Id of the owner.
        pub owner_id: String,
        /// Time of the start in milliseconds since 1970.
        pub created_ms: i64,
    } write columns new_columns
}

row! {
    /// A stored plan job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanJobRow {
        /// Number of the plan job.
        pub number: i64,
        /// Name of the plan.
        pub plan: String,
        /// State: `running`, `success` or `failure`.
        pub state: String,
        /// Name of the environment; may be empty.
        pub environment: String,
        /// Options of the request as JSON, without secrets.
        pub options: String,
        /// Data given by the user, as JSON.
        pub userdata: String,
        /// Login of the owner at the time of the start.
        pub owner: String,
        /// Id of the owner; empty if the owner was deleted.
        pub owner_id: String,
        /// Result as JSON; `None` while the plan runs, and if results were not requested.
        pub result: Option<String>,
        /// Length of the result in characters, even if the result itself was not read.
        pub result_chars: u64,
        /// Time of the start in milliseconds since 1970.
        pub created_ms: i64,
        /// Time of the end in milliseconds since 1970; `None` while the plan runs.
        pub finished_ms: Option<i64>,
        /// Time at which the plan job entered its state, in milliseconds since 1970.
        pub changed_ms: i64,
    } read
}

row! {
    /// A plan that is not over.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunningPlanRow {
        /// Number of the plan job.
        pub number: i64,
        /// Options of the request as JSON, without secrets.
        pub options: String,
    } read select running_plans from "plan_jobs"
}

/// The end of a plan job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOutcome {
    /// Last state: `success` or `failure`.
    pub state: String,
    /// Result of the plan, as JSON.
    pub result: String,
    /// The last event of the plan job.
    pub event: NewPlanEvent,
}

row! {
    /// A state that a step of a plan job entered.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanStepState {
        /// Job number of the step.
        pub job: JobNumber = "s.job",
        /// State of the job, as in [`JobStateRow`](crate::JobStateRow).
        pub state: String = "t.state",
        /// Time of entry in milliseconds since 1970.
        pub enter_ms: i64 = "t.enter_ms",
    } read select steps from "plan_steps s JOIN jobs j ON j.number = s.job JOIN job_states t ON t.job = s.job"
}

/// Filter of a list of plan jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanJobFilter {
    /// Earliest end, inclusive, in milliseconds since 1970.
    pub min_finish_ms: Option<i64>,
    /// Latest end, inclusive, in milliseconds since 1970.
    pub max_finish_ms: Option<i64>,
    /// Order of the list.
    pub order_by: JobOrder,
    /// True for the reverse order.
    pub descending: bool,
    /// True to read the results, which may be large.
    pub results: bool,
}

/// The columns of [`PlanJobRow`], in its order.
macro_rules! columns {
    ($result:literal) => {
        concat!(
            "number, plan, state, environment, options, userdata, owner, owner_id, ",
            $result,
            ", CAST(COALESCE(LENGTH(result), 0) AS BIGINT), created_ms, finished_ms, changed_ms"
        )
    };
}

macro_rules! matching {
    () => {
        " FROM plan_jobs WHERE (CAST($1 AS BIGINT) IS NULL OR finished_ms >= $1) \
         AND (CAST($2 AS BIGINT) IS NULL OR finished_ms <= $2)"
    };
}

macro_rules! page {
    ($order:literal) => {
        concat!(
            "SELECT ",
            columns!("CASE WHEN CAST($5 AS BIGINT) = 1 THEN result END"),
            matching!(),
            " ORDER BY ",
            $order,
            " LIMIT $3 OFFSET $4"
        )
    };
}

const TAKE: &str = "UPDATE plan_counters SET last = last + 1 WHERE name = 'job'";
const INSERT: &str = concat!(
    "INSERT INTO plan_jobs (",
    new_columns!(),
    ", number, state, changed_ms) SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), \
     CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS BIGINT), \
     last, 'running', CAST($8 AS BIGINT) FROM plan_counters WHERE name = 'job'"
);
const BY_REQUEST: &str = "SELECT number FROM plan_jobs WHERE request_id = $1";
const FINISH: &str = "UPDATE plan_jobs SET state = $2, result = $3, finished_ms = $4, \
     changed_ms = $4 WHERE number = $1 AND state = 'running'";
const ONE: &str = concat!(
    "SELECT ",
    columns!("result"),
    " FROM plan_jobs WHERE number = $1"
);
const COUNT: &str = concat!("SELECT COUNT(*)", matching!());
const OF_JOB: &str = "SELECT p.number, p.plan FROM plan_steps s \
     JOIN plan_jobs p ON p.number = s.plan_job WHERE s.job = $1";
const STEPS: &str = steps!("WHERE s.plan_job = $1 AND j.pruned = 0 ORDER BY s.job, t.progress");

macro_rules! old {
    ($column:literal, $table:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE ",
            $column,
            " IN (SELECT number FROM plan_jobs WHERE finished_ms < $1 ORDER BY number LIMIT $2)"
        )
    };
}

const FORGET: [&str; 5] = [
    old!("plan_job", "plan_journal"),
    old!("plan_job", "plan_runs"),
    old!("plan_job", "plan_events"),
    old!("plan_job", "plan_steps"),
    old!("number", "plan_jobs"),
];

const PAGES: [(JobOrder, &str, &str); 5] = pages!(page);

const RUNNING: &str = running_plans!("WHERE state = 'running'");

pub(crate) const STATEMENTS: &[&str] = &[
    RUNNING, TAKE, INSERT, BY_REQUEST, FINISH, ONE, COUNT, OF_JOB, STEPS, FORGET[0], FORGET[1],
    FORGET[2], FORGET[3], FORGET[4], PAGES[0].1, PAGES[0].2, PAGES[1].1, PAGES[1].2, PAGES[2].1,
    PAGES[2].2, PAGES[3].1, PAGES[3].2, PAGES[4].1, PAGES[4].2,
];

/// The statements of a new plan job.
pub(crate) fn insert_statements(new: &NewPlanJob) -> Vec<SqlStatement<'_>> {
    let take = SqlStatement::new(TAKE, Vec::new());
    vec![take, SqlStatement::new(INSERT, values![new])]
}

/// The statements of a plan job's end; the last one shows if the plan job was running.
pub(crate) fn finish_statements(number: i64, outcome: &PlanOutcome) -> Vec<SqlStatement<'_>> {
    let values = values![number, outcome.state, outcome.result, outcome.event.at_ms];
    // The event comes first: it is only written if the plan job runs.
    let mut steps = plan_events::insert_statements(number, &outcome.event).to_vec();
    if outcome.state == "success" {
        steps.push(run_secrets::delete_secrets_statement(number));
    }
    steps.push(SqlStatement::new(FINISH, values));
    steps
}

// === impl Store ===

impl Store {
    /// The requests of all plans that are not over.
    pub async fn running_plans(&self) -> Result<Vec<RunningPlanRow>, StoreError> {
        self.query(RUNNING, Vec::new()).await
    }

    /// Writes a running plan job. Returns its number.
    pub async fn insert_plan_job(&self, new: &NewPlanJob) -> Result<i64, StoreError> {
        self.execute_all(insert_statements(new)).await?;
        self.plan_job_of_request(&new.request_id).await
    }

    pub(crate) async fn plan_job_of_request(&self, request_id: &str) -> Result<i64, StoreError> {
        let number: Option<i64> = self.query_one(BY_REQUEST, values![request_id]).await?;
        number.ok_or(StoreError::Closed)
    }

    /// Ends a plan job. `false`: it does not exist or does not run, and nothing was written.
    pub async fn finish_plan_job(
        &self,
        number: i64,
        outcome: &PlanOutcome,
    ) -> Result<bool, StoreError> {
        self.execute_to_last(finish_statements(number, outcome))
            .await
    }

    /// The plan job with this number, with its result.
    pub async fn plan_job(&self, number: i64) -> Result<Option<PlanJobRow>, StoreError> {
        self.query_one(ONE, values![number]).await
    }

    /// One page of plan jobs, and the number of plan jobs without paging.
    pub async fn plan_jobs(
        &self,
        filter: &PlanJobFilter,
        page: ListPage,
    ) -> Result<(Vec<PlanJobRow>, u64), StoreError> {
        let mut values = values![filter.min_finish_ms, filter.max_finish_ms];
        let total = self.count(COUNT, values.clone()).await?;
        let sql = ordered_statement(&PAGES, filter.order_by, filter.descending);
        page.add_to(&mut values);
        filter.results.add_to(&mut values);
        let rows = self.query(sql, values).await?;
        Ok((rows, total))
    }

    /// The states of the steps of a plan job, by step and in chronological order. Steps that were
    /// pruned as old jobs are left out.
    pub async fn plan_steps(&self, number: i64) -> Result<Vec<PlanStepState>, StoreError> {
        self.query(STEPS, values![number]).await
    }

    /// The plan job that a job is a step of, and the plan's name; `None`: the job was not started
    /// by a plan.
    pub async fn plan_of_job(&self, job: JobNumber) -> Result<Option<(i64, String)>, StoreError> {
        self.query_one(OF_JOB, values![job]).await
    }

    /// Deletes plan jobs that ended before `older_than_ms`, with their events. Returns the number
    /// deleted.
    pub async fn prune_plan_jobs(&self, older_than_ms: i64) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let steps =
                FORGET.map(|sql| SqlStatement::new(sql, values![older_than_ms, PRUNE_JOBS]));
            let rows = self.execute_all(steps).await?;
            match rows.last() {
                Some(0) | None => return Ok(pruned),
                Some(jobs) => pruned += jobs,
            }
        }
    }
}
