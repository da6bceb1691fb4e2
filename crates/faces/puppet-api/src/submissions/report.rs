//! `PUT /puppet/v3/report/{certname}`: the report of a run.

use axum::extract::{Path, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use run_reports::RunReport;
use run_reports::defaults::MAX_REPORT_TEXT_BYTES;

use super::SubmissionServer;
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;

pub(super) async fn put(
    State(server): State<SubmissionServer>,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let received = Timestamp::now();
    let submitted = server
        .bodies
        .read(&caller, &name, request, MAX_REPORT_TEXT_BYTES)
        .await?;
    let reading = tokio::task::spawn_blocking(move || {
        let report = RunReport::from_json(&submitted.certname, &submitted.json, received);
        (report, submitted)
    });
    let Ok((report, submitted)) = reading.await else {
        return Err(PuppetApiFailure::busy("the server is shutting down"));
    };
    let report = report.map_err(|error| {
        let cause = error_causes::chain(&error).to_string();
        tracing::warn!(certname = %submitted.certname, cause, "a report is refused");
        PuppetApiFailure::bad_request(cause)
    })?;
    server.run_reports.record_report(report).await?;
    // The list of what report processors returned, as a puppetserver answers.
    Ok(([(header::CONTENT_TYPE, "application/json")], "[]").into_response())
}
