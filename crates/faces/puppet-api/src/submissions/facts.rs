//! `PUT /puppet/v3/facts/{certname}`: facts that a node sends without a request for a catalog.
//!
//! Invariant: trusted data comes from the certificate; a fact of that name is left out.

use axum::extract::{Path, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use environments::EnvironmentName;
use inventory::{NodeRecord, trusted_facts};
use run_reports::RunReports;

use super::SubmissionServer;
use crate::defaults::FACTS_BODY_BYTES;
use crate::facts_document::read_facts;
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
    let environment = environment(&params)?;
    let head = OutgoingHead::of(&request);
    let submitted = server
        .bodies
        .read(&caller, &name, request, FACTS_BODY_BYTES)
        .await?;
    let bytes = submitted.bytes.clone();
    let front = server.front_of(&caller, environment.as_ref()).await;
    let run_reports = server.run_reports_for(front);
    let recording = record(&run_reports, &caller, submitted, environment.clone());
    let recorded = recording.await;
    let Some(front) = front else {
        recorded?;
        // A puppetserver answers with an empty document, too.
        return Ok(([(header::CONTENT_TYPE, "application/json")], "\"\"").into_response());
    };
    if let Err(failure) = recorded {
        tracing::warn!(
            certname = name,
            ?failure,
            "facts are only passed to the puppetserver"
        );
    }
    front
        .forward(&caller, &head, OutgoingBody::Whole(bytes))
        .await
}

async fn record(
    run_reports: &RunReports,
    caller: &PuppetApiCaller,
    submitted: SubmittedBody,
    environment: Option<EnvironmentName>,
) -> Result<(), PuppetApiFailure> {
    let reading = submitted.read_text(|submitted| {
        let facts = read_facts(submitted.certname.as_str(), &submitted.json)?;
        Ok((submitted.certname.clone(), facts))
    });
    let ((certname, facts), _) = reading.await?;
    let record = NodeRecord {
        facts: facts.values.into(),
        trusted: trusted_facts(&certname, caller.extensions()).into(),
        environment: environment.map(|name| name.to_string()),
        timestamp: facts.timestamp,
    };
    Ok(run_reports.record_facts(&certname, record).await?)
}

/// The environment in the query; `None` if there is none.
fn environment(params: &QueryParams) -> Result<Option<EnvironmentName>, PuppetApiFailure> {
    let invalid = |error: &dyn std::fmt::Display| PuppetApiFailure::bad_request(error.to_string());
    let given = params.get("environment");
    let given = given.map_err(|_| invalid(&"the parameter environment occurs several times"))?;
    let parse = |name: &str| name.parse::<EnvironmentName>();
    given
        .map(parse)
        .transpose()
        .map_err(|error| invalid(&error))
}
