//! `PUT /puppet/v3/report/{certname}`: the report of a run.

use axum::extract::{Path, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use run_reports::defaults::MAX_REPORT_TEXT_BYTES;
use run_reports::{RunReport, RunReports};

use super::SubmissionServer;
use crate::failure::PuppetApiFailure;
use crate::front::{OutgoingBody, OutgoingHead};
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;
use crate::submitted_body::SubmittedBody;

pub(super) async fn put(
    State(server): State<SubmissionServer>,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let received = Timestamp::now();
    let head = OutgoingHead::of(&request);
    let submitted = server
        .bodies
        .read(&caller, &name, request, MAX_REPORT_TEXT_BYTES)
        .await?;
    let bytes = submitted.bytes.clone();
    let environment = params.environment().ok();
    let front = server.front_of(&caller, environment.as_ref()).await;
    let run_reports = server.run_reports_for(front);
    let recorded = record(&run_reports, submitted, received).await;
    let Some(front) = front else {
        recorded?;
        // The list of what report processors returned, as a puppetserver answers.
        return Ok(([(header::CONTENT_TYPE, "application/json")], "[]").into_response());
    };
    if let Err(failure) = recorded {
        tracing::warn!(
            certname = name,
            ?failure,
            "a report is only passed to the puppetserver"
        );
    }
    front
        .forward(&caller, &head, OutgoingBody::Whole(bytes))
        .await
}

async fn record(
    run_reports: &RunReports,
    submitted: SubmittedBody,
    received: Timestamp,
) -> Result<(), PuppetApiFailure> {
    let packer = run_reports.clone();
    let reading = submitted.read_text(move |submitted| {
        let report = RunReport::from_json(&submitted.certname, &submitted.json, received);
        let report = report.map_err(|error| {
            let cause = error_causes::chain(&error).to_string();
            tracing::warn!(certname = %submitted.certname, cause, "a report is refused");
            PuppetApiFailure::bad_request(cause)
        })?;
        Ok(packer.pack_report(report)?)
    });
    let (packed, _submitted) = reading.await?;
    Ok(run_reports.record_report(packed).await?)
}
