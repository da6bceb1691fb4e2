//! Events of plan jobs, one sequence over all of them.
//!
//! Main type: [`PlanEventRow`]. `writing/plan_events.rs` writes them, and no id is skipped or used
//! again.

use crate::StoreError;
use crate::rows::row;
use crate::store::Store;
use crate::value::values;
use crate::writing::plan_events::{NewPlanEvent, insert_statements};

row! {
    /// A stored event of a plan job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanEventRow {
        /// Id of the event, ascending over all plan jobs.
        pub id: i64,
        /// Number of the plan job.
        pub plan_job: i64,
        /// Type of the event, as in [`NewPlanEvent::kind`].
        pub kind: String,
        /// Time of the event in milliseconds since 1970.
        pub at_ms: i64,
        /// Details of the event, as JSON.
        pub details: String,
        /// Text shown to users.
        pub message: String,
    } read select events from "plan_events"
}

const FROM: &str = events!("WHERE plan_job = $1 AND id >= $2 ORDER BY id LIMIT $3");
const ONE: &str = events!("WHERE id = $1");

/// Events that are delivered to other programs: questions and ends of plan jobs.
const TOLD: &str = events!(
    "WHERE id >= $1 AND id <= $2 AND kind IN ('prompt', 'plan_finished', 'plan_failed') \
     ORDER BY id LIMIT $3"
);
const LAST_ID: &str = "SELECT last FROM plan_counters WHERE name = 'event'";

pub(crate) const STATEMENTS: &[&str] = &[FROM, ONE, TOLD, LAST_ID];

// === impl Store ===

impl Store {
    /// Writes an event of a plan job. `false`: the plan job does not exist or does not run.
    pub async fn insert_plan_event(
        &self,
        plan_job: i64,
        event: &NewPlanEvent,
    ) -> Result<bool, StoreError> {
        self.execute_to_last(insert_statements(plan_job, event))
            .await
    }

    /// Events of a plan job from `from_id` on, in ascending order.
    pub async fn plan_events(
        &self,
        plan_job: i64,
        from_id: i64,
        limit: usize,
    ) -> Result<Vec<PlanEventRow>, StoreError> {
        self.query(FROM, values![plan_job, from_id, limit]).await
    }

    /// Questions and ends of all plan jobs from `from_id` to `to_id`, in ascending order.
    pub async fn announced_plan_events(
        &self,
        from_id: i64,
        to_id: i64,
        limit: usize,
    ) -> Result<Vec<PlanEventRow>, StoreError> {
        self.query(TOLD, values![from_id, to_id, limit]).await
    }

    /// Id of the last event of any plan job; 0 if there was none.
    pub async fn last_plan_event_id(&self) -> Result<i64, StoreError> {
        Ok(self.query_one(LAST_ID, Vec::new()).await?.unwrap_or(0))
    }

    /// The event with this id, of any plan job.
    pub async fn plan_event(&self, id: i64) -> Result<Option<PlanEventRow>, StoreError> {
        self.query_one(ONE, values![id]).await
    }
}
