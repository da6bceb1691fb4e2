//! Times at which scheduled jobs start: [`Schedule`].
//!
//! `start_time` and `interval` are Puppet Enterprise's; every other key is an extension, and is
//! left out of replies if it is not set.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

/// Times at which a scheduled job starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// First start, with any UTC offset; with `cron` and `calendar` the earliest possible start,
    /// and optional.
    pub start_time: Option<Timestamp>,
    /// Interval between starts; null: the job runs once, unless `cron` or `calendar` is given.
    pub interval: Option<Interval>,
    /// Cron expression of five fields, or six with seconds first; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Calendar days and times of day; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarDays>,
    /// IANA time zone of `cron`, `calendar` and `blackouts`; absent: UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Largest delay by which each start is spread, in seconds; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_seconds: Option<u64>,
    /// Action for a start while the previous run is not over: `skip` (default), `queue` or `allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// Action for starts that could not happen in time: `skip` (default) or `run_once`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// Largest delay of `run_once`, in seconds; absent: one hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u64>,
    /// Blackout windows in which the job is not started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blackouts: Vec<BlackoutWindow>,
    /// Time after which the job is not started any more; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// Largest number of runs; absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
}

/// Fixed interval between starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Unit of the value; always `seconds`.
    #[schema(example = "seconds")]
    pub units: String,
    /// Length of the interval, in seconds.
    #[schema(minimum = 1)]
    pub value: u64,
}

/// Days and times of starts; an empty list does not restrict, except for `times`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CalendarDays {
    /// Times of day, for example `02:30`.
    pub times: Vec<String>,
    /// Days of the week, `mon` to `sun`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<String>,
    /// Days of the month: 1 to 31, or -1 (the last day) to -31.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub month_days: Vec<i8>,
    /// Months of the year, 1 to 12.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub months: Vec<i8>,
    /// Interval in weeks, counted from the week of the start; absent: every week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_weeks: Option<u32>,
}

/// Time window in which a scheduled job is not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlackoutWindow {
    /// Start of the window: a time like `2026-12-24T00:00:00Z` (once) or `22:00` (repeatedly).
    pub from: String,
    /// End of the window, in the same form; a time of day that is not after `from` is on the next
    /// day.
    pub until: String,
    /// Days on which a window of times of day begins; absent: every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<String>,
    /// IANA time zone of the window; absent: that of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}
