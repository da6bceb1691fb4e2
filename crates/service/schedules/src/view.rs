//! A scheduled job as it is shown: [`Scheduled`]. Never with secrets, only with their names.

use serde_json::{Map, Value};
use store::{LaunchedJob, ScheduleRow};

use crate::decide::Skip;
use crate::draft::Kind;
use crate::handle::ScheduleError;
use crate::launch::{PENDING, SubmissionError};
use crate::plan::Plan;
use crate::timetable::Timetable;

/// A scheduled job.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// Its number.
    pub id: i64,
    /// Of what kind.
    pub kind: Kind,
    /// Not deleted.
    pub enabled: bool,
    /// Counts the edits.
    pub revision: i64,
    /// The owner's login.
    pub owner: String,
    /// The owner's id.
    pub owner_id: String,
    /// The task or plan.
    pub name: String,
    /// May be empty.
    pub environment: String,
    /// Free text.
    pub description: String,
    /// Free keys and values.
    pub userdata: Map<String, Value>,
    /// As the API has it, without secrets.
    pub input: Map<String, Value>,
    /// Names of the secret parameters.
    pub sensitive: Vec<String>,
    /// When.
    pub timetable: Timetable,
    /// How many slots have run.
    pub runs: u64,
    /// When the next slot starts.
    pub next_ms: Option<i64>,
    /// A slot that waits for the run before it.
    pub queued_ms: Option<i64>,
    /// The last slot that ran.
    pub last: Option<LastRun>,
    /// The last slot that was left out.
    pub skipped: Option<Skip>,
}

/// The last slot that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// The slot's name.
    pub slot_ms: i64,
    /// When it was claimed.
    pub at_ms: i64,
    /// Its job, or why there is none.
    pub outcome: Result<LaunchedJob, SubmissionError>,
}

impl Scheduled {
    pub(crate) fn read(row: ScheduleRow) -> Result<Self, ScheduleError> {
        let kind = Kind::parse(&row.kind).ok_or(ScheduleError::Unreadable)?;
        let last = row.last.map(|last| {
            let outcome = match (last.job, last.error) {
                (Some(job), _) => Ok(job),
                (None, Some(error)) => Err(decode_errors::json::from_str(&error)?),
                (None, None) => Err(SubmissionError::new(PENDING, "the job is being made")),
            };
            Ok::<_, ScheduleError>(LastRun {
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

    /// When the next slots start, at most `count`.
    pub fn preview(&self, count: usize) -> Vec<i64> {
        let (Some(next_ms), Ok(plan)) = (self.next_ms, Plan::new(self.id, &self.timetable)) else {
            return Vec::new();
        };
        let left = self.timetable.max_runs.unwrap_or(u64::MAX);
        let left = usize::try_from(left.saturating_sub(self.runs)).unwrap_or(usize::MAX);
        // A slot is at most its spread before its start.
        let spread_ms = crate::plan::milliseconds(self.timetable.spread_seconds);
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
