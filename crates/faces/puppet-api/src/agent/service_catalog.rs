//! `POST /puppet/v4/catalog`: catalogs for services, on behalf of nodes.
//!
//! Puppet's default rules allow no client: the route is forbidden without a rule of an `auth.conf`.

use agent_catalogs::ServiceCatalogRequest;
use axum::extract::{Request, State};
use axum::response::Response;
use environments::EnvironmentName;
use pcp::Certname;
use serde::Deserialize;

use super::server_state::AgentServerState;
use super::service_answer::{
    CapturedLevel, ValuesDocument, catalog_answer, check_ids, invalid_input,
};
use crate::defaults::CATALOG_BODY_BYTES;
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;

/// The body of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogQuestionV4 {
    certname: String,
    persistence: Persistence,
    environment: String,
    #[serde(default)]
    facts: Option<ValuesDocument>,
    #[serde(default)]
    trusted_facts: Option<ValuesDocument>,
    #[serde(default)]
    transaction_uuid: Option<String>,
    #[serde(default)]
    job_id: Option<String>,
    #[serde(default)]
    options: CatalogOptions,
}

/// What is recorded and forwarded to PuppetDB.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Persistence {
    facts: bool,
    catalog: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CatalogOptions {
    capture_logs: bool,
    log_level: CapturedLevel,
    prefer_requested_environment: bool,
}

pub(super) async fn post(
    State(server): State<AgentServerState>,
    caller: PuppetApiCaller,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let service = caller.require_certname()?.to_owned();
    let body = server
        .bodies
        .read_any(&caller, &service, request, CATALOG_BODY_BYTES);
    let reading = body.await?.read_text(|text| {
        CatalogQuestionV4::parse(&text.json).map_err(PuppetApiFailure::into_text)
    });
    // the queue of compilations bounds the facts that wait, so the memory of the text is free
    let (question, _) = reading.await?;
    let captured = question
        .options
        .capture_logs
        .then_some(question.options.log_level);
    let request = question
        .into_request(service)
        .map_err(PuppetApiFailure::into_text)?;
    let (service, certname) = (request.service.clone(), request.certname.clone());
    let compiled = Box::pin(server.agents.catalogs.service_catalog(request)).await;
    catalog_answer(compiled, captured, (&service, &certname), "node")
}

impl CatalogQuestionV4 {
    fn parse(json: &str) -> Result<Self, PuppetApiFailure> {
        decode_errors::json::object_from_slice(json.as_bytes())
            .map_err(|error| PuppetApiFailure::bad_request(format!("Invalid input: {error}")))
    }

    fn into_request(self, service: String) -> Result<ServiceCatalogRequest, PuppetApiFailure> {
        let certname: Result<Certname, _> = self.certname.parse();
        let environment: Result<EnvironmentName, _> = self.environment.parse();
        check_ids([
            ("transaction_uuid", &self.transaction_uuid),
            ("job_id", &self.job_id),
        ])?;
        Ok(ServiceCatalogRequest {
            service,
            certname: certname.map_err(|error| invalid_input("certname", &error))?,
            environment: environment.map_err(|error| invalid_input("environment", &error))?,
            prefers_environment: self.options.prefer_requested_environment,
            facts: self.facts.map(|it| it.values),
            trusted: self.trusted_facts.map(|it| it.values),
            transaction_uuid: self.transaction_uuid,
            job_id: self.job_id,
            persists_facts: self.persistence.facts,
            persists_catalog: self.persistence.catalog,
        })
    }
}
