//! `PUT /puppet/v3/facts/{certname}`: facts that a node sends without a request for a catalog.
//!
//! Invariant: trusted data comes from the certificate; a fact of that name is left out.

use axum::extract::{Path, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use environments::EnvironmentName;
use inventory::{NodeRecord, trusted_facts};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::SubmissionServer;
use crate::defaults::FACTS_BODY_BYTES;
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// The document as agents write it.
#[derive(Deserialize)]
struct FactsDocument {
    name: Option<String>,
    #[serde(default)]
    values: Map<String, Value>,
    timestamp: Option<String>,
}

pub(super) async fn put(
    State(server): State<SubmissionServer>,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let environment = environment(&params)?;
    let submitted = server
        .bodies
        .read(&caller, &name, request, FACTS_BODY_BYTES)
        .await?;
    let certname = submitted.certname.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let document: Result<FactsDocument, _> = decode_errors::json::from_str(&submitted.json);
        document.map_err(|error| {
            PuppetApiFailure::bad_request(format!("the facts cannot be read: {error}"))
        })
    });
    let Ok(document) = reading.await else {
        return Err(PuppetApiFailure::busy("the server is shutting down"));
    };
    let mut document = document?;
    if document.name.as_deref() != Some(certname.as_str()) {
        let message = "the facts are of another node than the one that sends them";
        return Err(PuppetApiFailure::bad_request(message));
    }
    document.values.shift_remove("trusted");
    let timestamp = document.timestamp.and_then(|text| text.parse().ok());
    let record = NodeRecord {
        facts: document.values.into(),
        trusted: trusted(&caller, &certname)?.into(),
        environment: environment.map(|name| name.to_string()),
        timestamp: timestamp.unwrap_or_else(Timestamp::now),
    };
    server.run_reports.record_facts(&certname, record).await?;
    // A puppetserver answers with an empty document, too.
    Ok(([(header::CONTENT_TYPE, "application/json")], "\"\"").into_response())
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

/// Data of the caller's certificate.
fn trusted(
    caller: &PuppetApiCaller,
    certname: &pcp::Certname,
) -> Result<Map<String, Value>, PuppetApiFailure> {
    let Some(peer) = &caller.certificate.0 else {
        return Err(PuppetApiFailure::forbidden(
            "show a client certificate of this CA",
        ));
    };
    let extensions = pki::puppet_extensions(&peer.der).map_err(|error| {
        PuppetApiFailure::server_error(format!("the certificate cannot be read: {error}"))
    })?;
    Ok(trusted_facts(certname, extensions))
}
