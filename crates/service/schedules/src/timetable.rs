//! When a job is to start, as data: [`Timetable`].
//!
//! It is kept as JSON. The rule: what [`Timetable::check`] lets through has at least one slot to
//! come and can be compiled into a [`Plan`](crate::Plan) on a machine with the same time zones.

use serde::{Deserialize, Serialize};

use crate::blackout::Blackout;
use crate::calendar::Calendar;
use crate::defaults::{BLACKOUTS, SPAN_SECONDS};
use crate::plan::Plan;

/// When a job is to start, and when not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timetable {
    /// No slot is before this; for [`Rule::Once`] and [`Rule::Every`] it is the first. Whole
    /// seconds, in milliseconds since the epoch.
    pub start_ms: i64,
    /// Which slots there are.
    pub rule: Rule,
    /// Each slot starts up to so many seconds later, never as late as the next slot.
    #[serde(default)]
    pub spread_seconds: u64,
    /// Nothing starts in these windows.
    #[serde(default)]
    pub blackouts: Vec<Blackout>,
    /// What happens to a slot while the run before it goes on.
    #[serde(default)]
    pub overlap: Overlap,
    /// What happens to a slot that could not start in time.
    #[serde(default)]
    pub missed: Missed,
    /// Nothing starts after this.
    #[serde(default)]
    pub end_ms: Option<i64>,
    /// No more runs than this.
    #[serde(default)]
    pub max_runs: Option<u64>,
}

/// Which slots there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// One.
    Once,
    /// At fixed distances, whatever clocks do in summer.
    Every {
        /// The distance.
        seconds: u64,
    },
    /// By a cron text, on the clock of a time zone.
    Cron {
        /// Five fields; a sixth one before them is seconds.
        text: String,
        /// An IANA name.
        timezone: String,
    },
    /// On days and times of a calendar.
    Calendar(Calendar),
}

/// What happens to a slot while the run before it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is left out.
    #[default]
    Skip,
    /// One slot waits for the end of the run; further ones are left out.
    Queue,
    /// It starts beside it.
    Allow,
}

/// What happens to slots that could not start in time, because the server was down or the
/// machine's clock was set forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// They are left out.
    #[default]
    Skip,
    /// The last of them starts late, once.
    RunOnce {
        /// If it is not later than this.
        grace_seconds: u64,
    },
}

/// What is wrong with a timetable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimetableError {
    /// The first slot is over.
    #[error("start_time is in the past; give a time to come")]
    Past,
    /// No slot is left by end, blackouts or the rule itself.
    #[error(
        "this schedule never starts anything: no slot is left before its end and outside of its blackouts"
    )]
    Never,
    /// No such zone.
    #[error(
        "{place}: {name:?} is not a time zone that this server knows; give an IANA name such as Europe/Berlin"
    )]
    Zone {
        /// The key.
        place: &'static str,
        /// As given, cut.
        name: String,
    },
    /// Anything else.
    #[error("{place}: {what}")]
    Invalid {
        /// The key.
        place: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

impl TimetableError {
    pub(crate) fn invalid(place: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self::Invalid { place, what }
    }
}

// === impl Timetable ===

impl Timetable {
    /// One slot.
    pub fn once(start_ms: i64) -> Self {
        Self {
            start_ms,
            rule: Rule::Once,
            spread_seconds: 0,
            blackouts: Vec::new(),
            overlap: Overlap::default(),
            missed: Missed::default(),
            end_ms: None,
            max_runs: None,
        }
    }

    /// Whether it can be kept at `now_ms`; an interval's or a single start must be to come.
    pub fn check(&self, now_ms: i64) -> Result<(), TimetableError> {
        self.check_bounds()?;
        let by_start = matches!(self.rule, Rule::Once | Rule::Every { .. });
        if by_start && self.start_ms < now_ms {
            return Err(TimetableError::Past);
        }
        let plan = Plan::new(0, self)?;
        match plan.next_after(now_ms.saturating_sub(1)) {
            Some(_) => Ok(()),
            None => Err(TimetableError::Never),
        }
    }

    fn check_bounds(&self) -> Result<(), TimetableError> {
        let invalid = |place, what: String| TimetableError::Invalid { place, what };
        let longest = format!("must be at most {SPAN_SECONDS} (a year)");
        if let Rule::Every { seconds } = self.rule
            && !(1..=SPAN_SECONDS).contains(&seconds)
        {
            let what = format!("must be from 1 to {SPAN_SECONDS} seconds");
            return Err(invalid("schedule.interval.value", what));
        }
        if self.spread_seconds > SPAN_SECONDS {
            return Err(invalid("schedule.spread_seconds", longest));
        }
        if let Missed::RunOnce { grace_seconds } = self.missed
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
