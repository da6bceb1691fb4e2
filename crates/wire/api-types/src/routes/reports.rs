//! Routes of reports of Puppet runs: `/tutti/v1/reports`.

use crate::route::Method::Get;
use crate::route::Route;
use crate::routes::permissions::VIEW_NODE_DATA;
use crate::{RunReportDocument, RunReportList};

super::group! {
    RUN_REPORTS = Route::new(Get, "/tutti/v1/reports", "run_reports", VIEW_NODE_DATA,
        "List reports of Puppet runs, newest first").reply::<RunReportList>(200)
        .query(&["node", "status", "job", "limit", "offset"]);
    RUN_REPORT = Route::new(Get, "/tutti/v1/reports/{report}", "run_report", VIEW_NODE_DATA,
        "Show the report of a Puppet run, by its id or the first digits of it")
        .reply::<RunReportDocument>(200);
}
