//! Time windows without starts: [`BlackoutPeriod`].
//!
//! Invariant: a window includes its first moment and excludes its end; around clock changes it is
//! made longer rather than shorter.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::calendar::DayOfWeek;
use crate::timetable::TimetableError;
use crate::zone::{earliest_instant, latest_instant, load_zone, to_zoned};

/// A time window in which no job starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlackoutPeriod {
    /// A single window.
    Once {
        /// Start of the window, in milliseconds since 1970.
        from_ms: i64,
        /// End of the window, in milliseconds since 1970, exclusive.
        until_ms: i64,
    },
    /// A window that repeats weekly.
    Weekly {
        /// The days on which the window begins; empty for every day.
        #[serde(default)]
        weekdays: Vec<DayOfWeek>,
        /// Start of the window, as local time.
        from: Time,
        /// End of the window; on the next day if it is not after the start.
        until: Time,
        /// IANA name of the time zone.
        timezone: String,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum CompiledBlackout {
    Once {
        from_ms: i64,
        until_ms: i64,
    },
    Weekly {
        weekdays: Vec<DayOfWeek>,
        from: Time,
        until: Time,
        zone: TimeZone,
    },
}

impl CompiledBlackout {
    pub(crate) fn new(blackout: &BlackoutPeriod) -> Result<Self, TimetableError> {
        Ok(match blackout {
            BlackoutPeriod::Once { from_ms, until_ms } => {
                if until_ms <= from_ms {
                    let what = "until must be after from";
                    return Err(TimetableError::invalid("schedule.blackouts", what));
                }
                Self::Once {
                    from_ms: *from_ms,
                    until_ms: *until_ms,
                }
            }
            BlackoutPeriod::Weekly {
                weekdays,
                from,
                until,
                timezone,
            } => Self::Weekly {
                weekdays: weekdays.clone(),
                from: *from,
                until: *until,
                zone: load_zone("schedule.blackouts.timezone", timezone)?,
            },
        })
    }

    /// End of the window that contains `at_ms`; `None` if there is none.
    pub(crate) fn find_window_end(&self, at_ms: i64) -> Option<i64> {
        match self {
            Self::Once { from_ms, until_ms } => {
                (*from_ms..*until_ms).contains(&at_ms).then_some(*until_ms)
            }
            Self::Weekly {
                weekdays,
                from,
                until,
                zone,
            } => {
                let today = to_zoned(at_ms, zone).date();
                let days = [today.yesterday().ok(), Some(today)];
                let windows = days.into_iter().flatten().filter_map(|day| {
                    let on = weekdays.is_empty() || weekdays.contains(&day.weekday().into());
                    on.then(|| window_on_day(day, *from, *until, zone))
                        .flatten()
                });
                windows
                    .filter(|(from_ms, until_ms)| (*from_ms..*until_ms).contains(&at_ms))
                    .map(|(_, until_ms)| until_ms)
                    .max()
            }
        }
    }
}

/// The window that begins on `day`.
fn window_on_day(day: Date, from: Time, until: Time, zone: &TimeZone) -> Option<(i64, i64)> {
    let end_day = if until > from {
        day
    } else {
        day.tomorrow().ok()?
    };
    let from_ms = earliest_instant(day.to_datetime(from), zone)?;
    let until_ms = latest_instant(end_day.to_datetime(until), zone)?;
    Some((from_ms, until_ms))
}
