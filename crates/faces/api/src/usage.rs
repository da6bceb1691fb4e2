//! `GET usage`: for each day, the number of nodes that ran something, and of Puppet's changes.

use api_types::usage::{Usage, UsageDay, UsagePagination, UsageQuery};
use axum::Json;
use axum::extract::State;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use store::UsageRow;

use crate::SharedApiContext;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

const DAY_MS: i64 = 24 * 3_600 * 1_000;

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Usage>, ApiFailure> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let query = UsageQuery::read(given, today)?;
    let (first, last) = (day_number(query.start), day_number(query.end));
    let rows = api.store.usage(first * DAY_MS, (last + 1) * DAY_MS).await?;
    let items = (first..=last).rev().map(|day| {
        let row = rows.iter().find(|row| row.day == day);
        usage_day(date(day), row, query.events)
    });
    Ok(Json(Usage {
        items: items.collect(),
        pagination: UsagePagination {
            start_date: query.start.to_string(),
            end_date: query.end.to_string(),
        },
    }))
}

fn usage_day(date: Date, row: Option<&UsageRow>, events: bool) -> UsageDay {
    let of = |count: fn(&UsageRow) -> u64| row.map_or(0, count);
    let (nodes, without_agent) = (of(|row| row.nodes), of(|row| row.without_agent));
    UsageDay {
        date: date.to_string(),
        total_nodes: nodes,
        nodes_with_agent: nodes.saturating_sub(without_agent),
        nodes_without_agent: without_agent,
        corrective_agent_changes: events.then(|| of(|row| row.corrective)),
        intentional_agent_changes: events.then(|| of(|row| row.intentional)),
        nodes_affected_by_task_runs: events.then(|| of(|row| row.tasks)),
        nodes_affected_by_plan_runs: events.then(|| of(|row| row.plans)),
    }
}

const EPOCH: Date = Date::constant(1970, 1, 1);

/// Days since 1970.
fn day_number(date: Date) -> i64 {
    i64::from((date - EPOCH).get_days())
}

fn date(day: i64) -> Date {
    EPOCH.saturating_add(Span::new().days(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_their_numbers_belong_together() {
        for (text, day) in [
            ("1970-01-01", 0),
            ("2024-02-29", 19_782),
            ("1969-12-31", -1),
        ] {
            let given: Date = text.parse().unwrap();
            assert_eq!((day_number(given), date(day)), (day, given), "{text}");
        }
    }
}
