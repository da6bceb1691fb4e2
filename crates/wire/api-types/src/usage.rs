//! `GET usage`: number of active nodes and of changes by Puppet, for each day.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;
use crate::defaults::USAGE_DAYS;
use crate::parameters::Parameters;

/// Usage of the orchestrator, by day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// One item for each day of the request, newest first.
    pub items: Vec<UsageDay>,
    /// First and last day of the reply.
    pub pagination: UsagePagination,
}

/// One day, in UTC. A node counts if a job ran something on it that day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageDay {
    /// Date in the form `YYYY-MM-DD`.
    #[schema(example = "2026-11-21")]
    pub date: String,
    /// Number of all active nodes.
    pub total_nodes: u64,
    /// Number of nodes reached through an agent.
    pub nodes_with_agent: u64,
    /// Number of nodes reached over SSH, according to the present connections.
    pub nodes_without_agent: u64,
    /// Number of resources that Puppet runs of jobs corrected because they had been changed outside
    /// Puppet; absent with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrective_agent_changes: Option<u64>,
    /// Number of resources that Puppet runs of jobs changed because the catalog changed; absent
    /// with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intentional_agent_changes: Option<u64>,
    /// Number of nodes on which a task ran; absent with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_affected_by_task_runs: Option<u64>,
    /// Number of nodes on which a step of a plan ran; absent with `events=exclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_affected_by_plan_runs: Option<u64>,
}

/// First and last day of the reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsagePagination {
    /// First day, `YYYY-MM-DD`, inclusive.
    pub start_date: String,
    /// Last day, `YYYY-MM-DD`, inclusive.
    pub end_date: String,
}

/// Query of `GET usage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    /// First day of the reply, inclusive.
    pub start: Date,
    /// Last day of the reply, inclusive.
    pub end: Date,
    /// True if the numbers of changes and of affected nodes are included.
    pub events: bool,
}

impl UsageQuery {
    /// Reads the query parameters. The end defaults to `today`, and the start to the earliest day
    /// that the limit permits.
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
