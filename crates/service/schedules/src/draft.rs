//! The definition of a scheduled job: [`ScheduleDraft`].
//!
//! Invariant: from here on, secrets exist only sealed in the row, and in memory while a job is
//! launched.

use std::fmt;

use pki::seal::SealKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{ScheduleEdit, ScheduleProgress, ScheduleRow};
use zeroize::Zeroizing;

use crate::compiled_timetable::CompiledTimetable;
use crate::defaults::SCHEDULE_BYTES;
use crate::handle::ScheduleError;
use crate::launch::{BROKEN, SlotJob, SubmissionError};
use crate::timetable::{Timetable, TimetableError};

/// The kind of job that a schedule starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScheduledJobKind {
    /// A task run on nodes.
    Task,
    /// Puppet runs on nodes.
    Deploy,
    /// The execution of a plan.
    Plan,
}

/// The definition of a scheduled job, as submitted.
#[derive(Clone, PartialEq)]
pub struct ScheduleDraft {
    /// Name of the task or plan; empty for a Puppet run.
    pub name: String,
    /// Name of the environment; may be empty.
    pub environment: String,
    /// Free text for the created jobs.
    pub description: String,
    /// Arbitrary keys and values from the client.
    pub userdata: Map<String, Value>,
    /// The request without the name and the secrets, in the form of the API.
    pub input: Map<String, Value>,
    /// Values of the secret parameters, by name.
    pub secrets: Map<String, Value>,
    /// The times at which the job starts.
    pub timetable: Timetable,
}

// === impl ScheduledJobKind ===

impl ScheduledJobKind {
    /// The name used in the store and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Deploy => "deploy",
            Self::Plan => "plan",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Task, Self::Deploy, Self::Plan]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

// === impl ScheduleDraft ===

impl ScheduleDraft {
    /// Checks the size, which every list of scheduled jobs holds in memory.
    pub(crate) fn check_size(&self) -> Result<(), ScheduleError> {
        let bytes = [&self.input, &self.secrets, &self.userdata]
            .map(|part| serde_json::to_vec(part).map_or(usize::MAX, |json| json.len()));
        match bytes.into_iter().fold(0, usize::saturating_add) {
            bytes if bytes > SCHEDULE_BYTES => Err(ScheduleError::TooLarge(bytes)),
            _ => Ok(()),
        }
    }

    /// The row to write, with its slots from `now_ms` on. `schedule` is the number that seeds the
    /// spread.
    pub(crate) fn into_edit(
        self,
        schedule: i64,
        now_ms: i64,
        seal: &SealKey,
    ) -> Result<ScheduleEdit, TimetableError> {
        let advance = initial_advance(&self.timetable, schedule, now_ms)?;
        let names: Vec<&String> = self.secrets.keys().collect();
        let secrets = (!self.secrets.is_empty()).then(|| {
            let plain = Zeroizing::new(Value::Object(self.secrets.clone()).to_string());
            seal.seal(plain.as_bytes())
        });
        Ok(ScheduleEdit {
            sensitive: serde_json::json!(names).to_string(),
            sealed: secrets,
            name: self.name,
            environment: self.environment,
            description: self.description,
            userdata: Value::Object(self.userdata).to_string(),
            input: Value::Object(self.input).to_string(),
            timetable: serde_json::json!(self.timetable).to_string(),
            advance,
        })
    }

    /// Reads the definition from a row, and opens its sealed secrets.
    pub(crate) fn open(row: &ScheduleRow, seal: &SealKey) -> Result<Self, ScheduleError> {
        let edit = &row.edit;
        let secrets = match &edit.sealed {
            None => Map::new(),
            Some(sealed) => {
                let plain = Zeroizing::new(seal.open(sealed)?);
                decode_errors::json::from_slice(&plain)?
            }
        };
        Ok(Self {
            name: edit.name.clone(),
            environment: edit.environment.clone(),
            description: edit.description.clone(),
            userdata: decode_errors::json::from_str(&edit.userdata)?,
            input: decode_errors::json::from_str(&edit.input)?,
            secrets,
            timetable: decode_errors::json::from_str(&edit.timetable)?,
        })
    }
}

/// Initial state of a schedule that is new or has a new timetable: past slots are ignored.
pub(crate) fn initial_advance(
    timetable: &Timetable,
    schedule: i64,
    now_ms: i64,
) -> Result<ScheduleProgress, TimetableError> {
    let cursor_ms = now_ms.saturating_sub(1);
    let next = CompiledTimetable::new(schedule, timetable)?.next_after(cursor_ms);
    Ok(ScheduleProgress {
        cursor_ms: Some(cursor_ms),
        next_slot_ms: next.map(|slot| slot.slot_ms),
        next_ms: next.map(|slot| slot.start_ms),
        queued_ms: None,
    })
}

/// The job to launch for a row.
pub(crate) fn to_slot_job(row: &ScheduleRow, seal: &SealKey) -> Result<SlotJob, SubmissionError> {
    let broken = |what: &str| SubmissionError::new(BROKEN, what);
    let draft = ScheduleDraft::open(row, seal).map_err(|error| {
        tracing::error!(schedule = row.id, %error, "cannot read a schedule");
        broken("the schedule's row cannot be read; make the schedule again (was the seal key replaced?)")
    })?;
    let kind = ScheduledJobKind::parse(&row.kind)
        .ok_or_else(|| broken("this version does not know the schedule's type"))?;
    Ok(SlotJob {
        id: row.id,
        kind,
        name: draft.name,
        environment: draft.environment,
        owner: row.owner.clone(),
        owner_id: row.owner_id.clone(),
        description: draft.description,
        userdata: draft.userdata,
        input: draft.input,
        sensitive: draft.secrets.keys().cloned().collect(),
        secrets: draft.secrets,
    })
}

/// Omits the values of secrets and parameters.
impl fmt::Debug for ScheduleDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleDraft")
            .field("name", &self.name)
            .field("environment", &self.environment)
            .field("secrets", &self.secrets.keys().collect::<Vec<_>>())
            .field("timetable", &self.timetable)
            .finish_non_exhaustive()
    }
}
