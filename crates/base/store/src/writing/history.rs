//! The statements that accept an older copy of the database as it is: [`HistoryAcceptance`].
//!
//! The effects of the lost commits are not known any more. Invariant: an action that the lost
//! commits may have started is not started again. Waiting runs may have been sent: they are marked,
//! so that their agents are queried. Plans may have taken more steps: they end. Slots of schedules
//! may have started jobs: they are passed over. Numbers of jobs and events that may have been seen
//! by clients are skipped.

use crate::defaults::{HISTORY_SKIPPED_COMMITS, HISTORY_SKIPPED_EVENTS, HISTORY_SKIPPED_JOBS};
use crate::history_mark::HistoryMark;
use crate::ledger::NumberLedger;
use crate::statement::SqlStatement;
use crate::value::values;

const SET_COMMITS: &str = "UPDATE ledger SET commits = $1 WHERE id = 1";
const SKIP_PLANS: &str = "UPDATE plan_counters SET last = last + $1 WHERE name = 'job'";
const SKIP_PLAN_EVENTS: &str = "UPDATE plan_counters SET last = last + $1 WHERE name = 'event'";
const ENTER_RUNNING: &str = "INSERT INTO job_states (job, progress, state, enter_ms) \
     SELECT number, 2, 'running', CAST($1 AS BIGINT) FROM jobs WHERE progress < 2 \
     ON CONFLICT DO NOTHING";
const START_JOBS: &str = "UPDATE jobs SET state = 'running', progress = 2, \
     started_ms = COALESCE(started_ms, $1), changed_ms = $1 WHERE progress < 2";
/// Nothing more was sent for a job that is stopping.
const MARK_RUNS: &str = "UPDATE runs SET state = 'running', progress = 2, \
     started_ms = COALESCE(started_ms, $1) WHERE progress < 2 \
     AND job IN (SELECT number FROM jobs WHERE progress = 2)";
/// Plans that run in an external Bolt continue there.
const END_PLANS: &str = "UPDATE plan_jobs SET state = 'failure', result = $2, finished_ms = $1, \
     changed_ms = $1 WHERE state = 'running' AND number IN (SELECT plan_job FROM plan_runs)";
const END_SLOTS: &str = "UPDATE schedule_slots SET ended = 1, error = $1 WHERE ended = 0 \
     AND NOT EXISTS (SELECT 1 FROM schedule_launches l \
     WHERE l.schedule = schedule_slots.schedule AND l.slot_ms = schedule_slots.slot_ms) \
     AND NOT EXISTS (SELECT 1 FROM schedule_plan_launches p \
     WHERE p.schedule = schedule_slots.schedule AND p.slot_ms = schedule_slots.slot_ms)";
/// The next slot is determined at once.
const PASS_SLOTS: &str = "UPDATE schedules SET cursor_ms = $1, next_ms = $1, queued_ms = NULL, \
     revision = revision + 1 WHERE enabled = 1 AND (next_ms <= $1 OR queued_ms IS NOT NULL)";

pub(crate) const STATEMENTS: &[&str] = &[
    SET_COMMITS,
    SKIP_PLANS,
    SKIP_PLAN_EVENTS,
    ENTER_RUNNING,
    START_JOBS,
    MARK_RUNS,
    END_PLANS,
    END_SLOTS,
    PASS_SLOTS,
];

/// Positions of the statements whose rows are counted.
pub(crate) const COUNTED: [usize; 4] = [5, 6, 7, 8];

const KIND: &str = "tutti/history-went-back";

/// The request to accept an older history.
#[derive(Debug)]
pub(crate) struct HistoryAcceptance {
    pub(crate) last_known: HistoryMark,
    pub(crate) at_ms: i64,
}

// === impl HistoryAcceptance ===

impl HistoryAcceptance {
    /// Adds the steps in the order of [`STATEMENTS`].
    pub(crate) fn add_statements(
        &self,
        ledger: &mut NumberLedger,
        steps: &mut Vec<SqlStatement<'_>>,
    ) {
        ledger.job = ledger.job.max(self.last_known.job) + HISTORY_SKIPPED_JOBS;
        ledger.event = ledger.event.max(self.last_known.event) + HISTORY_SKIPPED_EVENTS;
        ledger.commits = ledger.commits.max(self.last_known.commits) + HISTORY_SKIPPED_COMMITS;
        let msg = "the database went back to an older history, and what was done since then is \
                   not known; nothing was done again";
        let error = serde_json::json!({"kind": KIND, "msg": msg, "details": {}}).to_string();
        let at = self.at_ms;
        let values = [
            values![ledger.commits],
            values![HISTORY_SKIPPED_JOBS],
            values![HISTORY_SKIPPED_EVENTS],
            values![at],
            values![at],
            values![at],
            values![at, error],
            values![error],
            values![at],
        ];
        let all = STATEMENTS.iter().zip(values);
        steps.extend(all.map(|(sql, values)| SqlStatement::new(sql, values).into_owned()));
    }
}
