//! Routes under `/activity-api` and `/audit`: the audit log.

use crate::activity::{ActivityV1, ActivityV2};
use crate::audit::AuditEntries;
use crate::route::Method::Get;
use crate::route::{Policy, Route};
use crate::routes::permissions::may;

/// Read the audit.
const AUDIT: Policy = may("audit", "view");

const FILTERS_V1: &[&str] = &[
    "service_id",
    "subject_type",
    "subject_id",
    "object_type",
    "object_id",
    "after_service_commit_time",
    "limit",
    "offset",
    "order",
];
const FILTERS_V2: &[&str] = &["service_id", "query", "limit", "offset", "order"];

super::group! {
    ACTIVITY_V1 = Route::new(Get, "/activity-api/v1/events", "activity_events_v1", AUDIT,
        "Who did what").reply::<ActivityV1>(200).query(FILTERS_V1);
    ACTIVITY_V1_CSV = Route::new(Get, "/activity-api/v1/events.csv", "activity_csv_v1", AUDIT,
        "Who did what, as a table").text(200, "text/csv").query(FILTERS_V1);
    ACTIVITY_V2 = Route::new(Get, "/activity-api/v2/events", "activity_events_v2", AUDIT,
        "Who did what, and from where").reply::<ActivityV2>(200).query(FILTERS_V2);
    ACTIVITY_V2_CSV = Route::new(Get, "/activity-api/v2/events.csv", "activity_csv_v2", AUDIT,
        "Who did what, and from where, as a table").text(200, "text/csv").query(FILTERS_V2);
    AUDIT_ENTRIES = Route::new(Get, "/audit/v1/entries", "audit_entries", AUDIT,
        "The entries of the audit as they are chained, to be verified")
        .reply::<AuditEntries>(200).query(&["start", "limit"]);
}
