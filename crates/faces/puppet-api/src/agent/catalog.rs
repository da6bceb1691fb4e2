//! `/puppet/v3/catalog/{certname}`: the catalog of the caller, compiled here or by the puppetserver behind this
//! server.

use std::time::Instant;

use agent_catalogs::{AgentCatalogError, AgentCatalogRequest};
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use catalogs::CatalogError;
use compiler::DocumentForm;
use error_causes::chain;

use super::catalog_form::CatalogForm;
use super::server_state::{AgentServerState, identify};
use crate::defaults::{CATALOG_BODY_BYTES, LEFT_OUT_NAMED};
use crate::failure::PuppetApiFailure;
use crate::front::{OutgoingBody, OutgoingHead, PuppetserverFront};
use crate::node_code::RunCode;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;
use crate::submitted_body::SubmittedForm;

const COMPILER_NAME: HeaderName = HeaderName::from_static("x-puppet-compiler-name");

/// Media types that agents accept.
const RICH_JSON: &str = "application/vnd.puppet.rich+json";
const JSON: &str = "application/json";
const PSON: &str = "text/pson";

pub(super) async fn get(
    State(server): State<AgentServerState>,
    Path(certname): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let head = OutgoingHead::of(&request);
    let headers = request.headers().clone();
    let request = RequestedCatalog {
        certname: &certname,
        caller: &caller,
        head,
        body: Bytes::new(),
    };
    Box::pin(respond(server, request, params, &headers)).await
}

pub(super) async fn post(
    State(server): State<AgentServerState>,
    Path(certname): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let head = OutgoingHead::of(&request);
    let headers = request.headers().clone();
    let form = server
        .bodies
        .read_form(&caller, &certname, request, CATALOG_BODY_BYTES)
        .await?;
    let SubmittedForm {
        params: mut form,
        bytes,
        _memory: memory,
    } = form;
    form.extend(params);
    let request = RequestedCatalog {
        certname: &certname,
        caller: &caller,
        head,
        // kept only if the puppetserver may get it
        body: server.front.as_ref().map(|_| bytes).unwrap_or_default(),
    };
    let response = Box::pin(respond(server, request, form, &headers)).await;
    drop(memory);
    response
}

/// A request as it may be passed to the puppetserver.
struct RequestedCatalog<'r> {
    certname: &'r str,
    caller: &'r PuppetApiCaller,
    head: OutgoingHead,
    body: Bytes,
}

impl RequestedCatalog<'_> {
    /// Has the puppetserver compile the catalog.
    async fn pass(self, front: &PuppetserverFront) -> Result<Response, PuppetApiFailure> {
        let began = Instant::now();
        let body = OutgoingBody::Whole(self.body);
        let response = front.forward(self.caller, &self.head, body).await?;
        let (certname, status) = (self.certname, response.status().as_u16());
        let milliseconds = began.elapsed().as_millis();
        tracing::info!(
            certname,
            status,
            milliseconds,
            "catalog of the puppetserver"
        );
        Ok(response)
    }
}

async fn respond(
    server: AgentServerState,
    requested: RequestedCatalog<'_>,
    params: QueryParams,
    headers: &HeaderMap,
) -> Result<Response, PuppetApiFailure> {
    let (certname, caller) = (requested.certname, requested.caller);
    let agent = identify(caller, certname)?;
    let name = certname.to_owned();
    let parsing = tokio::task::spawn_blocking(move || CatalogForm::parse(&name, params));
    let form = parsing
        .await
        .map_err(|panic| PuppetApiFailure::internal(&panic))??;
    let (form_of_values, media_type) = negotiate(headers)?;
    let (environment, job_id) = (&form.environment, form.job_id.as_deref());
    let RunCode { code_id, waiting } = server.code.code_of_run(certname, environment, job_id)?;
    // the puppetserver would take the live version
    let is_pinned = code_id.is_some();
    let request = AgentCatalogRequest {
        agent,
        environment: form.environment,
        code_id,
        waiting,
        checks_environment: form.checks_environment,
        facts: form.facts,
        static_files: form.static_files,
        form: form_of_values,
        transaction_uuid: form.transaction_uuid,
        job_id: form.job_id,
    };
    let compiled = Box::pin(server.agents.catalogs.catalog(request)).await;
    let catalog = match (compiled, server.front) {
        (Ok(catalog), _) => catalog,
        (Err(AgentCatalogError::OfPuppetserver { .. }), Some(front)) if !is_pinned => {
            return requested.pass(&front).await;
        }
        (Err(error), _) => {
            tracing::warn!(certname, error = chain(&error), "an agent gets no catalog");
            return Err(catalog_failure(error));
        }
    };
    if let Some(took) = catalog.compile_time {
        let milliseconds = took.as_millis();
        tracing::info!(
            certname,
            environment = catalog.environment.as_str(),
            code_id = catalog.code_id.as_deref(),
            milliseconds,
            compiled_each_time = catalog.volatile.map(|cause| cause.as_str()),
            "catalog compiled"
        );
        if !catalog.left_out.is_empty() {
            let named = catalog.left_out.iter().take(LEFT_OUT_NAMED);
            let named: Vec<&str> = named.map(String::as_str).collect();
            tracing::warn!(
                certname,
                components = named.join(", "),
                count = catalog.left_out.len(),
                "components are left for a later run"
            );
        }
    }
    let described = [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (COMPILER_NAME, server.agents.name),
        (header::VARY, "Accept, Accept-Encoding".to_owned()),
    ];
    Ok(match accepts_gzip(headers) {
        true => {
            let encoding = [(header::CONTENT_ENCODING, "gzip")];
            (described, encoding, catalog.body.gzip()).into_response()
        }
        false => (described, catalog.body.text()).into_response(),
    })
}

/// True if the client accepts responses in the format of gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    accepted(headers, header::ACCEPT_ENCODING)
        .iter()
        .any(|coding| coding == "gzip")
}

/// The names in a header such as `Accept`, in lower case, without those that the client refuses by the weight 0.
fn accepted(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let values = headers.get_all(name).into_iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let is_wanted = |parameter: &str| match parameter.trim().split_once('=') {
        Some(("q" | "Q", weight)) => weight.parse().unwrap_or(0.0) > 0.0,
        _ => true,
    };
    let named = values.flat_map(|value| value.split(',')).filter_map(|one| {
        let mut parts = one.split(';');
        let name = parts.next()?.trim().to_ascii_lowercase();
        (!name.is_empty() && parts.all(is_wanted)).then_some(name)
    });
    named.collect()
}

/// The form of values, and the media type of the response.
fn negotiate(headers: &HeaderMap) -> Result<(DocumentForm, &'static str), PuppetApiFailure> {
    let accepted = accepted(headers, header::ACCEPT);
    let accepts = |wanted: &str| accepted.iter().any(|it| it == wanted);
    let takes_all = !headers.contains_key(header::ACCEPT) || accepts("*/*");
    if takes_all || accepts(RICH_JSON) || accepts("application/*") {
        return Ok((DocumentForm::Rich, RICH_JSON));
    }
    match (accepts(JSON), accepts(PSON)) {
        (true, _) => Ok((DocumentForm::Texts, JSON)),
        (false, true) => Ok((DocumentForm::Texts, PSON)),
        (false, false) => Err(PuppetApiFailure::not_acceptable(format!(
            "catalogs are available as {RICH_JSON}, {JSON} and {PSON}"
        ))),
    }
}

pub(super) fn catalog_failure(error: AgentCatalogError) -> PuppetApiFailure {
    let message = chain(&error);
    match error {
        AgentCatalogError::NoFacts { .. } => PuppetApiFailure::bad_request(message),
        AgentCatalogError::StaticFile(_)
        | AgentCatalogError::OfPuppetserver { .. }
        | AgentCatalogError::UnreadVariables { .. } => PuppetApiFailure::server_error(message),
        AgentCatalogError::FactSource { .. } => PuppetApiFailure::busy(message),
        AgentCatalogError::ContentChanged { .. } => PuppetApiFailure::not_found(message),
        AgentCatalogError::Thread(_) => PuppetApiFailure::internal(&error),
        AgentCatalogError::Catalog(error) => engine_failure(error),
    }
}

fn engine_failure(error: CatalogError) -> PuppetApiFailure {
    let message = chain(&error);
    match error {
        CatalogError::QueueFull(_)
        | CatalogError::WaitedTooLong { .. }
        | CatalogError::Stopping => PuppetApiFailure::busy(message),
        CatalogError::Code(error) => crate::files::code_failure(error),
        _ => PuppetApiFailure::server_error(message),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_media_type_is_one_that_the_client_accepts() {
        for (accept, expected) in [
            (
                "application/vnd.puppet.rich+json, application/json, text/pson",
                Some(RICH_JSON),
            ),
            ("application/json, text/pson", Some(JSON)),
            ("application/json;q=0.1, text/pson", Some(JSON)),
            ("application/json;q=0, text/pson", Some(PSON)),
            (
                "application/vnd.puppet.rich+json; q=0.0, text/pson",
                Some(PSON),
            ),
            ("Text/PSON;charset=utf-8", Some(PSON)),
            ("*/*", Some(RICH_JSON)),
            ("application/*", Some(RICH_JSON)),
            (
                "application/vnd.puppet.rich+msgpack, application/json",
                Some(JSON),
            ),
            ("application/x-msgpack", None),
            ("application/json;q=0", None),
            ("*/*;q=0", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            let found = negotiate(&headers).ok().map(|(_, media_type)| media_type);
            assert_eq!(found, expected, "{accept}");
        }
        assert_eq!(negotiate(&HeaderMap::new()).unwrap().1, RICH_JSON);
    }

    #[test]
    fn compression_is_what_the_client_accepts() {
        for (accept, expected) in [
            ("gzip;q=1.0,deflate;q=0.6,identity;q=0.3", true),
            ("br, GZIP", true),
            ("gzip;q=0", false),
            ("gzip;q=x", false),
            ("deflate", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accept));
            assert_eq!(accepts_gzip(&headers), expected, "{accept}");
        }
    }
}
