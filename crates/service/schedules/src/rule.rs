//! Slots of a rule, without spread, blackouts and end: [`CompiledRule`].
//!
//! Invariant: [`CompiledRule::next_after`] returns a time later than its argument and never before
//! the start, and the same time for the same argument.

use crate::calendar::CompiledCalendar;
use crate::cron::CompiledCron;
use crate::timetable::{Timetable, TimetableError, TimetableRule};

/// A compiled rule that computes slots.
#[derive(Clone, Debug)]
pub(crate) enum CompiledRule {
    Once {
        at_ms: i64,
    },
    Every {
        start_ms: i64,
        step_ms: i64,
    },
    Cron {
        start_ms: i64,
        cron: Box<CompiledCron>,
    },
    Calendar {
        start_ms: i64,
        calendar: Box<CompiledCalendar>,
    },
}

impl CompiledRule {
    pub(crate) fn new(timetable: &Timetable) -> Result<Self, TimetableError> {
        let start_ms = timetable.start_ms;
        Ok(match &timetable.rule {
            TimetableRule::Once => Self::Once { at_ms: start_ms },
            TimetableRule::Every { seconds } => Self::Every {
                start_ms,
                step_ms: i64::try_from(*seconds)
                    .unwrap_or(i64::MAX)
                    .saturating_mul(1_000)
                    .max(1_000),
            },
            TimetableRule::Cron { text, timezone } => Self::Cron {
                start_ms,
                cron: Box::new(CompiledCron::new(text, timezone)?),
            },
            TimetableRule::Calendar(calendar) => Self::Calendar {
                start_ms,
                calendar: Box::new(CompiledCalendar::new(calendar, start_ms)?),
            },
        })
    }

    /// The first slot after `after_ms`.
    pub(crate) fn next_after(&self, after_ms: i64) -> Option<i64> {
        match self {
            Self::Once { at_ms } => (*at_ms > after_ms).then_some(*at_ms),
            Self::Every { start_ms, .. } if after_ms < *start_ms => Some(*start_ms),
            Self::Every { start_ms, step_ms } => {
                let steps = after_ms.checked_sub(*start_ms)?.div_euclid(*step_ms) + 1;
                start_ms.checked_add(steps.checked_mul(*step_ms)?)
            }
            Self::Cron { start_ms, cron } => cron.next_after(after_ms.max(start_ms - 1)),
            Self::Calendar { start_ms, calendar } => {
                calendar.next_after(after_ms.max(start_ms - 1))
            }
        }
    }
}
