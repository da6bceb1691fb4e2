//! When a scheduled job starts.
//!
//! `start_time` and `interval` are Puppet Enterprise's; every other key is an extension, and is
//! left out of replies where it is not set.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

/// When.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// The first start, with any offset; may be absent with `cron` and `calendar`.
    pub start_time: Option<Timestamp>,
    /// Null: once, unless `cron` or `calendar` is given.
    pub interval: Option<Interval>,
    /// A cron text of five fields, or six with seconds first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Days and times of day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarDays>,
    /// The IANA time zone of `cron`, `calendar` and `blackouts`; UTC when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Each slot starts up to so many seconds later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_seconds: Option<u64>,
    /// `skip` (default), `queue` or `allow`: a slot while the run before it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// `skip` (default) or `run_once`: slots that could not start in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// How late `run_once` may be; an hour when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u64>,
    /// Windows in which nothing starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blackouts: Vec<BlackoutWindow>,
    /// Nothing starts after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// No more runs than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
}

/// A fixed distance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Always `seconds`.
    #[schema(example = "seconds")]
    pub units: String,
    /// How many.
    #[schema(minimum = 1)]
    pub value: u64,
}

/// Days of a calendar; an empty list is no limit, but for `times`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CalendarDays {
    /// Times of day, for example `02:30`.
    pub times: Vec<String>,
    /// `mon` to `sun`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<String>,
    /// 1 to 31, or -1 (the last day) to -31.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub month_days: Vec<i8>,
    /// 1 to 12.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub months: Vec<i8>,
    /// Only every so many weeks, counted from that of the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_weeks: Option<u32>,
}

/// A window in which nothing starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlackoutWindow {
    /// A time like `2026-12-24T00:00:00Z` (once) or `22:00` (again and again).
    pub from: String,
    /// Of the same form; a time of day that is not after `from` is on the next day.
    pub until: String,
    /// For times of day: on which days the window begins; absent: on all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<String>,
    /// Another time zone than the schedule's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}
