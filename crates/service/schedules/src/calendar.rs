//! Days and times of a calendar on the clock of a time zone: [`Calendar`].
//!
//! The rules where clocks are changed: each time of each day gives one slot. A time that is left
//! out gives it as much later as the gap is long, a time that is shown twice the first time.

use jiff::ToSpan as _;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::defaults::{CALENDAR_DAYS, CALENDAR_TIMES};
use crate::timetable::TimetableError;
use crate::zone::{first_instant, zone, zoned};

/// Which days, and at which times. An empty list is no limit, but for `times`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calendar {
    /// An IANA name.
    pub timezone: String,
    /// Times of day.
    pub times: Vec<Time>,
    /// Days of the week.
    #[serde(default)]
    pub weekdays: Vec<Day>,
    /// Days of the month from 1; from the month's end: -1 is its last.
    #[serde(default)]
    pub month_days: Vec<i8>,
    /// Months from 1.
    #[serde(default)]
    pub months: Vec<i8>,
    /// Only every so many weeks, from Monday on, counted from the week of the start; 0 and 1: all.
    #[serde(default)]
    pub every_weeks: u32,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

#[derive(Clone, Debug)]
pub(crate) struct CompiledCalendar {
    calendar: Calendar,
    zone: TimeZone,
    /// The Monday of the week of the start.
    first_monday: Date,
}

impl CompiledCalendar {
    pub(crate) fn new(calendar: &Calendar, start_ms: i64) -> Result<Self, TimetableError> {
        let invalid = |what: &str| TimetableError::invalid("schedule.calendar", what);
        let zone = zone("schedule.timezone", &calendar.timezone)?;
        if calendar.times.is_empty() || calendar.times.len() > CALENDAR_TIMES {
            let what = format!("times must have 1 to {CALENDAR_TIMES} entries like \"02:30\"");
            return Err(invalid(&what));
        }
        let day = |day: &i8| (1..=31).contains(day) || (-31..=-1).contains(day);
        if !calendar.month_days.iter().all(day) {
            return Err(invalid("month_days are 1 to 31, or -1 (the last) to -31"));
        }
        if !calendar.months.iter().all(|month| (1..=12).contains(month)) {
            return Err(invalid("months are 1 to 12"));
        }
        if calendar.every_weeks > 520 {
            return Err(invalid("every_weeks is at most 520 (ten years)"));
        }
        let first_monday = monday(zoned(start_ms, &zone).date());
        Ok(Self {
            calendar: calendar.clone(),
            zone,
            first_monday,
        })
    }

    pub(crate) fn after(&self, after_ms: i64) -> Option<i64> {
        // The day before, too: a gap over midnight puts its last times into the next day.
        let mut date = zoned(after_ms, &self.zone).date().yesterday().ok()?;
        for _ in 0..CALENDAR_DAYS {
            let tomorrow = date.tomorrow().ok()?;
            if let Some(found) = self.first_on(date, after_ms) {
                let next_day = self.first_on(tomorrow, after_ms);
                return Some(next_day.map_or(found, |next| next.min(found)));
            }
            date = tomorrow;
        }
        None
    }

    /// The first slot of a day that is after `after_ms`.
    fn first_on(&self, date: Date, after_ms: i64) -> Option<i64> {
        if !self.is_on(date) {
            return None;
        }
        let times = self.calendar.times.iter();
        times
            .filter_map(|time| first_instant(date.to_datetime(*time), &self.zone))
            .filter(|at_ms| *at_ms > after_ms)
            .min()
    }

    fn is_on(&self, date: Date) -> bool {
        let Calendar {
            weekdays,
            month_days,
            months,
            every_weeks,
            ..
        } = &self.calendar;
        let from_end = date.day() - date.days_in_month() - 1;
        (months.is_empty() || months.contains(&date.month()))
            && (month_days.is_empty()
                || month_days.contains(&date.day())
                || month_days.contains(&from_end))
            && (weekdays.is_empty() || weekdays.contains(&Day::from(date.weekday())))
            && (*every_weeks < 2 || self.weeks(date) % i64::from(*every_weeks) == 0)
    }

    /// Whole weeks since that of the start.
    fn weeks(&self, date: Date) -> i64 {
        monday(date).duration_since(self.first_monday).as_hours() / (7 * 24)
    }
}

/// The Monday of the week; at the begin of time, the day itself.
fn monday(date: Date) -> Date {
    let days = i64::from(date.weekday().to_monday_zero_offset());
    date.checked_sub(days.days()).unwrap_or(date)
}

impl From<Weekday> for Day {
    fn from(weekday: Weekday) -> Self {
        match weekday {
            Weekday::Monday => Self::Mon,
            Weekday::Tuesday => Self::Tue,
            Weekday::Wednesday => Self::Wed,
            Weekday::Thursday => Self::Thu,
            Weekday::Friday => Self::Fri,
            Weekday::Saturday => Self::Sat,
            Weekday::Sunday => Self::Sun,
        }
    }
}
