//! A scheduled job as clients see it: [`ScheduleView`]. It has the names of secrets, but not their
//! values.

use serde_json::{Map, Value};
use store::{LaunchedJob, ScheduleRow};

use crate::compiled_timetable::CompiledTimetable;
use crate::decide::SkippedSlots;
use crate::draft::ScheduledJobKind;
use crate::handle::ScheduleError;
use crate::launch::{PENDING, SubmissionError};
use crate::timetable::Timetable;

/// A scheduled job with its current state.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleView {
    /// Number of the schedule.
    pub id: i64,
    /// Kind of the job.
    pub kind: ScheduledJobKind,
    /// `false` if the schedule was deleted.
    pub enabled: bool,
    /// Number that each edit increases.
    pub revision: i64,
    /// Login of the owner.
    pub owner: String,
    /// Id of the owner.
    pub owner_id: String,
    /// Name of the task or plan.
    pub name: String,
    /// Name of the environment; may be empty.
    pub environment: String,
    /// Free text for the job.
    pub description: String,
    /// Arbitrary keys and values from the client.
    pub userdata: Map<String, Value>,
    /// The request in the form of the API, without secrets.
    pub input: Map<String, Value>,
    /// Names of the secret parameters.
    pub sensitive: Vec<String>,
    /// The times at which the job starts.
    pub timetable: Timetable,
    /// Number of slots that have run.
    pub runs: u64,
    /// Start of the next slot, in milliseconds since 1970; `None` if there is none.
    pub next_ms: Option<i64>,
    /// A slot that waits for the end of the previous run.
    pub queued_ms: Option<i64>,
    /// The last slot that ran; `None` if none has.
    pub last: Option<LastSlotRun>,
    /// The last slots that were skipped; `None` if none were.
    pub skipped: Option<SkippedSlots>,
}

/// The last slot that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSlotRun {
    /// Time of the slot, which identifies it, in milliseconds since 1970.
    pub slot_ms: i64,
    /// Time of the claim, in milliseconds since 1970.
    pub at_ms: i64,
    /// The job of the slot, or the reason why there is none.
    pub outcome: Result<LaunchedJob, SubmissionError>,
}

impl ScheduleView {
    pub(crate) fn from_row(row: ScheduleRow) -> Result<Self, ScheduleError> {
        let kind = ScheduledJobKind::parse(&row.kind).ok_or(ScheduleError::Unreadable)?;
        let last = row.last.map(|last| {
            let outcome = match (last.job, last.error) {
                (Some(job), _) => Ok(job),
                (None, Some(error)) => Err(decode_errors::json::from_str(&error)?),
                (None, None) => Err(SubmissionError::new(PENDING, "the job is being made")),
            };
            Ok::<_, ScheduleError>(LastSlotRun {
                slot_ms: last.slot_ms,
                at_ms: last.claimed_ms,
                outcome,
            })
        });
        let skipped = row.skipped.as_deref().map(decode_errors::json::from_str);
        Ok(Self {
            id: row.id,
            kind,
            enabled: row.enabled,
            revision: row.revision,
            owner: row.owner,
            owner_id: row.owner_id,
            userdata: decode_errors::json::from_str(&row.edit.userdata)?,
            input: decode_errors::json::from_str(&row.edit.input)?,
            sensitive: decode_errors::json::from_str(&row.edit.sensitive)?,
            timetable: decode_errors::json::from_str(&row.edit.timetable)?,
            name: row.edit.name,
            environment: row.edit.environment,
            description: row.edit.description,
            runs: row.runs,
            next_ms: row.edit.advance.next_ms,
            queued_ms: row.edit.advance.queued_ms,
            last: last.transpose()?,
            skipped: skipped.transpose()?,
        })
    }

    /// Start times of the next slots, at most `count`.
    pub fn preview(&self, count: usize) -> Vec<i64> {
        let (Some(next_ms), Ok(plan)) = (
            self.next_ms,
            CompiledTimetable::new(self.id, &self.timetable),
        ) else {
            return Vec::new();
        };
        let left = self.timetable.max_runs.unwrap_or(u64::MAX);
        let left = usize::try_from(left.saturating_sub(self.runs)).unwrap_or(usize::MAX);
        // A slot's time is at most the spread before its start.
        let spread_ms = crate::compiled_timetable::to_milliseconds(self.timetable.spread_seconds);
        let slots = plan.preview(
            next_ms.saturating_sub(spread_ms).saturating_sub(1),
            usize::MAX,
        );
        let starts = slots.into_iter().map(|slot| slot.start_ms);
        starts
            .filter(|start_ms| *start_ms >= next_ms)
            .take(count.min(left))
            .collect()
    }
}
