//! `GET usage`: how many nodes ran something, and what Puppet changed, by day.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;
use crate::defaults::USAGE_DAYS;
use crate::parameters::Parameters;

/// The days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Newest first; every day that was asked for.
    pub items: Vec<UsageDay>,
    /// Which days.
    pub pagination: UsagePagination,
}

/// One day, in UTC. A node counts when a job ran something on it that day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageDay {
    /// `YYYY-MM-DD`.
    #[schema(example = "2026-11-21")]
    pub date: String,
    /// All of them.
    pub total_nodes: u64,
    /// Those that are reached through an agent.
    pub nodes_with_agent: u64,
    /// Those that are reached over SSH, by the connections of today.
    pub nodes_without_agent: u64,
    /// Resources that Puppet runs of jobs put back, because they had been changed outside Puppet;
    /// absent with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrective_agent_changes: Option<u64>,
    /// Resources that they changed because the catalog asked for something new; absent with
    /// `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intentional_agent_changes: Option<u64>,
    /// Those on which a task ran; absent with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_affected_by_task_runs: Option<u64>,
    /// Those on which a step of a plan ran; absent with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_affected_by_plan_runs: Option<u64>,
}

/// Which days were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsagePagination {
    /// The first day.
    pub start_date: String,
    /// The last day.
    pub end_date: String,
}

/// The query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    /// The first day.
    pub start: Date,
    /// The last day.
    pub end: Date,
    /// Whether it is told what ran.
    pub events: bool,
}

impl UsageQuery {
    /// From query parameters; `today` where no end is given, and the longest time before the end
    /// where no start is.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters, today: Date) -> Result<Self, ApiError> {
        let end = date(&mut given, "end_date")?.unwrap_or(today);
        let longest = jiff::Span::new().days(USAGE_DAYS - 1);
        let earliest = end.saturating_sub(longest);
        let start = date(&mut given, "start_date")?.unwrap_or(earliest);
        let events = given.one_of("events", &[("include", true), ("exclude", false)])?;
        given.finish()?;
        if end < start {
            let what = format!("{end} is before the start_date {start}");
            return Err(ApiError::invalid("end_date", what));
        }
        if start < earliest {
            let what = format!("at most {USAGE_DAYS} days can be asked for at once");
            return Err(ApiError::invalid("start_date", what));
        }
        Ok(Self {
            start,
            end,
            events: events.unwrap_or(true),
        })
    }
}

fn date(given: &mut Parameters, name: &str) -> Result<Option<Date>, ApiError> {
    let Some(text) = given.text(name) else {
        return Ok(None);
    };
    let invalid = || ApiError::invalid(name, format!("{text:?} is not a day like 2026-11-21"));
    // Only this form: what else could be read as a day is a mistake.
    let parsed: Date = text.parse().map_err(|_| invalid())?;
    match parsed.to_string() == text {
        true => Ok(Some(parsed)),
        false => Err(invalid()),
    }
}
