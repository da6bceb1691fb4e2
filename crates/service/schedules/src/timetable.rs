//! The start times of a job, as data: [`Timetable`].
//!
//! It is stored as JSON. Invariant: a timetable that passes [`Timetable::check`] has at least one
//! future slot and can be compiled into a [`CompiledTimetable`](crate::CompiledTimetable) on a
//! machine with the same time zones.

pub use super::timetable_error::TimetableError;
use serde::{Deserialize, Serialize};

use crate::blackout::BlackoutPeriod;
use crate::calendar::CalendarRule;
use crate::compiled_timetable::CompiledTimetable;
use crate::defaults::{BLACKOUTS, SPAN_SECONDS};

/// The start times of a job, with their restrictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timetable {
    /// Earliest time of a slot; for [`TimetableRule::Once`] and [`TimetableRule::Every`] it is the
    /// first slot. Whole seconds, in milliseconds since 1970.
    pub start_ms: i64,
    /// The rule that defines the slots.
    pub rule: TimetableRule,
    /// Maximum delay of each slot, in seconds; it is always shorter than the distance to the next
    /// slot.
    #[serde(default)]
    pub spread_seconds: u64,
    /// Windows in which no job starts.
    #[serde(default)]
    pub blackouts: Vec<BlackoutPeriod>,
    /// Handling of a slot while the previous run is in progress.
    #[serde(default)]
    pub overlap: OverlapPolicy,
    /// Handling of a slot that could not start in time.
    #[serde(default)]
    pub missed: MissedSlotPolicy,
    /// No slot starts after this time, in milliseconds since 1970; `None` for no end.
    #[serde(default)]
    pub end_ms: Option<i64>,
    /// Maximum number of runs; `None` for no limit.
    #[serde(default)]
    pub max_runs: Option<u64>,
}

/// The rule that defines the slots of a timetable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimetableRule {
    /// A single slot at the start.
    Once,
    /// Slots at fixed intervals, independent of clock changes.
    Every {
        /// Interval between two slots, in seconds.
        seconds: u64,
    },
    /// Slots by a cron expression, on the clock of a time zone.
    Cron {
        /// The expression with five fields; an optional sixth field before them is seconds.
        text: String,
        /// IANA name of the time zone.
        timezone: String,
    },
    /// Slots on days and times of a calendar.
    Calendar(CalendarRule),
}

/// The handling of a slot while the previous run is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlapPolicy {
    /// The slot is skipped.
    #[default]
    Skip,
    /// One slot waits for the end of the run; further ones are skipped.
    Queue,
    /// The slot starts in parallel.
    Allow,
}

/// The handling of slots that could not start in time, because the server was down or the
/// machine's clock was set forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedSlotPolicy {
    /// The slots are skipped.
    #[default]
    Skip,
    /// The last of them starts late, once.
    RunOnce {
        /// Maximum delay of that start, in seconds.
        grace_seconds: u64,
    },
}

// === impl Timetable ===

impl Timetable {
    /// A timetable with one slot.
    pub fn once(start_ms: i64) -> Self {
        Self {
            start_ms,
            rule: TimetableRule::Once,
            spread_seconds: 0,
            blackouts: Vec::new(),
            overlap: OverlapPolicy::default(),
            missed: MissedSlotPolicy::default(),
            end_ms: None,
            max_runs: None,
        }
    }

    /// Checks the timetable at `now_ms`; the start of a single slot or an interval must be in the
    /// future.
    pub fn check(&self, now_ms: i64) -> Result<(), TimetableError> {
        self.check_bounds()?;
        let by_start = matches!(self.rule, TimetableRule::Once | TimetableRule::Every { .. });
        if by_start && self.start_ms < now_ms {
            return Err(TimetableError::Past);
        }
        let plan = CompiledTimetable::new(0, self)?;
        match plan.next_after(now_ms.saturating_sub(1)) {
            Some(_) => Ok(()),
            None => Err(TimetableError::Never),
        }
    }

    fn check_bounds(&self) -> Result<(), TimetableError> {
        let invalid = |place, what: String| TimetableError::Invalid { place, what };
        let longest = format!("must be at most {SPAN_SECONDS} (a year)");
        if let TimetableRule::Every { seconds } = self.rule
            && !(1..=SPAN_SECONDS).contains(&seconds)
        {
            let what = format!("must be from 1 to {SPAN_SECONDS} seconds");
            return Err(invalid("schedule.interval.value", what));
        }
        if self.spread_seconds > SPAN_SECONDS {
            return Err(invalid("schedule.spread_seconds", longest));
        }
        if let MissedSlotPolicy::RunOnce { grace_seconds } = self.missed
            && grace_seconds > SPAN_SECONDS
        {
            return Err(invalid("schedule.grace_seconds", longest));
        }
        if self.blackouts.len() > BLACKOUTS {
            let what = format!("must be at most {BLACKOUTS} windows");
            return Err(invalid("schedule.blackouts", what));
        }
        if self.max_runs == Some(0) {
            return Err(invalid(
                "schedule.max_runs",
                "must be at least 1".to_owned(),
            ));
        }
        Ok(())
    }
}
