//! `GET /activity-api/v1|v2/events`, their export as tables, and `GET /audit/v1/entries`.

use api_types::activity::{
    ActivityCommitV1, ActivityCommitV2, ActivityEvent, ActivityMessage, ActivityName,
    ActivityObject, ActivityPagination, ActivityQuery, ActivityV1, ActivityV2,
};
use api_types::audit::{AuditEntries, AuditHead, AuditQuery, KeptAuditHeads};
use api_types::{Timestamp, routes};
use audit::HexHash;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, header};
use store::{AuditFilter, AuditRow, ListPage};

use crate::SharedApiContext;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

const HEADING: &str = "Submit Time,Subject Type,Subject Id,Subject Name,Object Type,Object Id,\
                       Object Name,Type,What,Description,Message";

/// A table with its media type.
type CsvTable = ([(HeaderName, &'static str); 1], String);

pub(crate) async fn v1(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ActivityV1>, ApiFailure> {
    let query = ActivityQuery::read_v1(given)?;
    let (rows, total_rows) = list(&api, &query).await?;
    Ok(Json(ActivityV1 {
        commits: rows.into_iter().map(commit_v1).collect(),
        total_rows,
        limit: query.limit,
        offset: query.offset,
    }))
}

pub(crate) async fn v2(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ActivityV2>, ApiFailure> {
    let query = ActivityQuery::read_v2(given)?;
    let (rows, total) = list(&api, &query).await?;
    Ok(Json(ActivityV2 {
        commits: rows.into_iter().map(commit_v2).collect(),
        pagination: ActivityPagination {
            total,
            limit: query.limit,
            offset: query.offset,
        },
    }))
}

pub(crate) async fn csv_v1(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<CsvTable, ApiFailure> {
    let query = ActivityQuery::read_v1(given)?;
    let (rows, _) = list(&api, &query).await?;
    Ok(table(HEADING.to_owned(), rows.iter().map(cells)))
}

pub(crate) async fn csv_v2(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<CsvTable, ApiFailure> {
    let query = ActivityQuery::read_v2(given)?;
    let (rows, _) = list(&api, &query).await?;
    let cells = rows.iter().map(|row| {
        let mut cells = cells(row);
        cells.push(row.entry.address.clone().unwrap_or_default());
        cells
    });
    Ok(table(format!("{HEADING},Ip Address"), cells))
}

/// The head is read after the entries, so that a client that stores it finds it in its next check.
pub(crate) async fn entries(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<AuditEntries>, ApiFailure> {
    let query = AuditQuery::read(given)?;
    let rows = api.store.audit_entries(query.start, query.limit).await?;
    let head = api.store.audit_head().await?;
    let kept = api.audit.read_head_file().await;
    // Without the stored head, the check reports that there is nothing to compare with.
    let kept = kept.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot read the head of the audit chain beside the database");
        Some(audit::HeadFileHeads::default())
    });
    let shown = |head: audit::ChainHead| AuditHead {
        seq: head.seq,
        hash: HexHash(head.hash).to_string(),
    };
    let kept = kept.map(|kept| KeptAuditHeads {
        head: kept.head.map(shown),
        contradicted: kept.contradicted.into_iter().map(shown).collect(),
    });
    Ok(Json(AuditEntries {
        head: shown(head.into()),
        kept,
        items: rows.into_iter().map(audit::wire::to_api_entry).collect(),
    }))
}

async fn list(
    api: &SharedApiContext,
    query: &ActivityQuery,
) -> Result<(Vec<AuditRow>, u64), ApiFailure> {
    let filter = AuditFilter {
        service: query.service.clone(),
        actor_type: query.subject_type.clone(),
        actor_ids: query.subject_ids.clone(),
        object_type: query.object_type.clone(),
        object_ids: query.object_ids.clone(),
        address: query.ip_address.clone(),
        start_ms: query.start.map(Timestamp::as_ms),
        end_ms: query.end.map(Timestamp::as_ms),
        descending: !query.ascending,
    };
    let page = ListPage {
        limit: Some(query.limit),
        offset: query.offset,
    };
    Ok(api.store.audit_list(&filter, page).await?)
}

fn commit_v1(row: AuditRow) -> ActivityCommitV1 {
    let message = message(&row);
    let entry = row.entry;
    ActivityCommitV1 {
        object: ActivityName {
            id: entry.object_id,
            name: entry.object_name,
        },
        subject: ActivityName {
            id: entry.actor_id,
            name: entry.actor_name,
        },
        timestamp: Timestamp::from_ms(entry.at_ms),
        events: vec![ActivityMessage { message }],
    }
}

fn commit_v2(row: AuditRow) -> ActivityCommitV2 {
    let message = message(&row);
    let entry = row.entry;
    let object = ActivityObject {
        id: entry.object_id,
        name: entry.object_name,
        kind: entry.object_type.clone(),
    };
    ActivityCommitV2 {
        objects: Some(object)
            .filter(|object| !(object.id.is_empty() && object.kind.is_empty()))
            .into_iter()
            .collect(),
        subject: ActivityName {
            id: entry.actor_id,
            name: entry.actor_name,
        },
        timestamp: Timestamp::from_ms(entry.at_ms),
        ip_address: entry.address,
        events: vec![ActivityEvent {
            description: description(&entry.action).to_owned(),
            kind: entry.action,
            what: entry.object_type,
            message,
        }],
    }
}

/// The description of an operation, from the list of routes.
fn description(action: &str) -> &str {
    let route = routes::ALL
        .iter()
        .find(|route| route.operation_id == action);
    route.map_or(action, |route| route.summary)
}

fn message(row: &AuditRow) -> String {
    let entry = &row.entry;
    let mut parts = vec![description(&entry.action).to_owned()];
    if let Ok(details) = serde_json::from_str::<serde_json::Value>(&entry.details)
        && let Some((kind, name)) = task_or_plan(&details)
        && entry.object_type != kind
    {
        parts.push(format!(": {kind} \"{name}\""));
    }
    if !entry.object_id.is_empty() {
        let through = match entry.object_type.as_str() {
            "job" | "plan_job" => "through",
            _ => "on",
        };
        let (kind, name) = (&entry.object_type, &entry.object_name);
        parts.push(format!(" {through} {kind} {name}"));
    }
    parts.push(describe_failure(row));
    if entry.times > 1 {
        parts.push(format!(", {} times", entry.times));
    }
    parts.concat()
}

/// The task or plan that was run.
fn task_or_plan(details: &serde_json::Value) -> Option<(&'static str, &str)> {
    let named = |key: &str| details.get(key).and_then(serde_json::Value::as_str);
    let task = named("task").map(|name| ("task", name));
    task.or_else(|| named("plan_name").map(|name| ("plan", name)))
}

/// The outcome of an operation that did not succeed.
fn describe_failure(row: &AuditRow) -> String {
    let entry = &row.entry;
    match (entry.decision.as_str(), entry.status) {
        ("denied", _) => match &entry.permission {
            Some(permission) => format!(": denied (lacks {permission})"),
            None => ": denied".to_owned(),
        },
        (_, Some(status)) if status >= 400 => format!(": failed with HTTP {status}"),
        (_, None) if entry.phase == "result" => ": broke off, outcome not known".to_owned(),
        _ => String::new(),
    }
}

fn cells(row: &AuditRow) -> Vec<String> {
    let entry = &row.entry;
    vec![
        Timestamp::from_ms(entry.at_ms).to_string(),
        entry.actor_type.clone(),
        entry.actor_id.clone(),
        entry.actor_name.clone(),
        entry.object_type.clone(),
        entry.object_id.clone(),
        entry.object_name.clone(),
        entry.action.clone(),
        entry.object_type.clone(),
        description(&entry.action).to_owned(),
        message(row),
    ]
}

fn table(heading: String, rows: impl Iterator<Item = Vec<String>>) -> CsvTable {
    let mut text = heading;
    text.push('\n');
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| quote_cell(cell)).collect();
        text += &cells.join(",");
        text.push('\n');
    }
    ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text)
}

/// Quotes a CSV cell if needed. A cell that a spreadsheet would take for a formula gets an
/// apostrophe, since logins are arbitrary input.
fn quote_cell(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_no_formulas_and_no_new_rows_from_names() {
        assert_eq!(quote_cell("ann"), "ann");
        assert_eq!(quote_cell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(
            quote_cell("=HYPERLINK(\"x\")"),
            "\"'=HYPERLINK(\"\"x\"\")\""
        );
        assert_eq!(quote_cell("@SUM(1)"), "'@SUM(1)");
    }
}
