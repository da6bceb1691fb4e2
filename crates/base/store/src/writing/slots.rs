//! Slots of schedules, as the jobs that run for them are written: [`SlotKey`].

use crate::JobNumber;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::value::values;

row! {
    /// Identity of a slot of a schedule.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct SlotKey {
        /// Number of the schedule.
        pub schedule: i64,
        /// Time of the slot by the timetable in milliseconds since 1970, before any spread.
        pub slot_ms: i64,
    } read write
}

/// Runs in the transaction of the job.
const LAUNCH: &str = "INSERT INTO schedule_launches (schedule, slot_ms, job) VALUES ($1, $2, $3)";
/// Runs in the transaction of the plan job, after its row was inserted.
const LAUNCH_PLAN: &str = "INSERT INTO schedule_plan_launches (schedule, slot_ms, plan_job) \
     VALUES ($1, $2, (SELECT last FROM plan_counters WHERE name = 'job'))";

pub(crate) const STATEMENTS: &[&str] = &[LAUNCH, LAUNCH_PLAN];

impl SlotKey {
    /// The statement that is written with the job.
    pub(crate) fn launch_statement(self, job: JobNumber) -> SqlStatement<'static> {
        SqlStatement::new(LAUNCH, values![self.schedule, self.slot_ms, job])
    }

    /// The statement that is written with the plan job that was numbered last.
    pub(crate) fn launch_plan(self) -> SqlStatement<'static> {
        SqlStatement::new(LAUNCH_PLAN, values![self.schedule, self.slot_ms])
    }
}
