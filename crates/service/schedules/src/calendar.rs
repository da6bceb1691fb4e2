//! Calendar rules: days and times on the clock of a time zone: [`CalendarRule`].
//!
//! Invariants around clock changes: each time of each day gives one slot. A time that the clock
//! skips is delayed by the length of the gap; a time that occurs twice counts the first time.

use jiff::ToSpan as _;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::defaults::{CALENDAR_DAYS, CALENDAR_TIMES};
use crate::timetable::TimetableError;
use crate::zone::{first_instant, load_zone, to_zoned};

/// Days, and times of day. An empty list is no restriction, except for `times`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarRule {
    /// IANA name of the time zone.
    pub timezone: String,
    /// Times of day at which slots are.
    pub times: Vec<Time>,
    /// Days of the week; empty for all.
    #[serde(default)]
    pub weekdays: Vec<DayOfWeek>,
    /// Days of the month from 1; negative days count from the end: -1 is the last.
    #[serde(default)]
    pub month_days: Vec<i8>,
    /// Months from 1; empty for all.
    #[serde(default)]
    pub months: Vec<i8>,
    /// Interval in weeks from Monday, counted from the week of the start; 0 and 1 mean every week.
    #[serde(default)]
    pub every_weeks: u32,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DayOfWeek {
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
    calendar: CalendarRule,
    zone: TimeZone,
    /// The Monday of the week that contains the start.
    first_monday: Date,
}

impl CompiledCalendar {
    pub(crate) fn new(calendar: &CalendarRule, start_ms: i64) -> Result<Self, TimetableError> {
        let invalid = |what: &str| TimetableError::invalid("schedule.calendar", what);
        let zone = load_zone("schedule.timezone", &calendar.timezone)?;
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
        let first_monday = monday_of(to_zoned(start_ms, &zone).date());
        Ok(Self {
            calendar: calendar.clone(),
            zone,
            first_monday,
        })
    }

    pub(crate) fn next_after(&self, after_ms: i64) -> Option<i64> {
        // Includes the day before: a gap over midnight moves its last times into the next day.
        let mut date = to_zoned(after_ms, &self.zone).date().yesterday().ok()?;
        for _ in 0..CALENDAR_DAYS {
            let tomorrow = date.tomorrow().ok()?;
            if let Some(found) = self.first_slot_on(date, after_ms) {
                let next_day = self.first_slot_on(tomorrow, after_ms);
                return Some(next_day.map_or(found, |next| next.min(found)));
            }
            date = tomorrow;
        }
        None
    }

    /// The first slot of a day after `after_ms`.
    fn first_slot_on(&self, date: Date, after_ms: i64) -> Option<i64> {
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
        let CalendarRule {
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
            && (weekdays.is_empty() || weekdays.contains(&DayOfWeek::from(date.weekday())))
            && (*every_weeks < 2 || self.weeks_since_start(date) % i64::from(*every_weeks) == 0)
    }

    /// Number of whole weeks since the week of the start.
    fn weeks_since_start(&self, date: Date) -> i64 {
        monday_of(date).duration_since(self.first_monday).as_hours() / (7 * 24)
    }
}

/// The Monday of the week; at the earliest representable date, the day itself.
fn monday_of(date: Date) -> Date {
    let days = i64::from(date.weekday().to_monday_zero_offset());
    date.checked_sub(days.days()).unwrap_or(date)
}

impl From<Weekday> for DayOfWeek {
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
