//! Jobs that are steps of plan jobs. Main function: [`join_statements`].

use super::plan_events::{self, NewPlanEvent};
use crate::JobNumber;
use crate::statement::SqlStatement;
use crate::value::values;

/// Runs in the transaction of the job.
const STEP: &str = "INSERT INTO plan_steps (plan_job, job, open) VALUES ($1, $2, \
     (SELECT 1 FROM plan_jobs WHERE number = $1 AND state = 'running'))";
pub(crate) const STATEMENTS: &[&str] = &[STEP];

/// Types of the events that record the start of these tasks, which carry out commands, scripts,
/// file transfers and applies on nodes; for every other task it is [`TASK_START`].
const STARTS: &[(&str, &str, &str)] = &[
    ("bolt_shim::command", "command_start", "a command"),
    ("bolt_shim::script", "script_start", "a script"),
    ("bolt_shim::upload", "upload_start", "an upload"),
    ("bolt_shim::download", "download_start", "a download"),
    (
        "apply_helpers::apply_catalog",
        "apply_start",
        "task apply_helpers::apply_catalog",
    ),
    (
        "apply_helpers::custom_facts",
        "apply_prep_start",
        "task apply_helpers::custom_facts",
    ),
];
const TASK_START: &str = "task_start";

/// The statements that make a job a step of a plan job, and write its event. They refuse the whole
/// transaction if the plan job is over.
pub(crate) fn join_statements(
    plan_job: i64,
    job: JobNumber,
    task: Option<&str>,
    at_ms: i64,
) -> impl Iterator<Item = SqlStatement<'static>> {
    let step = SqlStatement::new(STEP, values![plan_job, job]);
    let start = STARTS.iter().find(|(name, ..)| Some(*name) == task);
    let kind = start.map_or(TASK_START, |(_, kind, _)| kind);
    let message = match (start, task) {
        (Some((.., what)), _) => format!("Started {what} as job {job}"),
        (None, Some(task)) => format!("Started task {task} as job {job}"),
        (None, None) => format!("Started job {job}"),
    };
    let event = NewPlanEvent {
        kind: kind.to_owned(),
        at_ms,
        details: format!(r#"{{"job-id":"{job}"}}"#),
        message,
    };
    let events = plan_events::insert_statements(plan_job, &event).map(SqlStatement::into_owned);
    std::iter::once(step).chain(events)
}
