//! `POST /puppet/v4/catalog`: catalogs for services, on behalf of nodes. `POST /puppet/v3/compile`, which compiles a
//! syntax tree of a plan, is refused.
//!
//! Puppet's default rules allow no client: the routes are forbidden without a rule of an `auth.conf`.

use agent_catalogs::{ServiceCatalog, ServiceCatalogRequest};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use compiler::CompileLog;
use environments::EnvironmentName;
use error_causes::chain;
use evaluator::LogLevel;
use jiff::Timestamp;
use pcp::Certname;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::AgentServerState;
use super::catalog::catalog_failure;
use crate::defaults::{CATALOG_BODY_BYTES, ID_BYTES_MAX};
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogQuestionV4 {
    certname: String,
    persistence: Persistence,
    environment: String,
    #[serde(default)]
    facts: Option<GivenValues>,
    #[serde(default)]
    trusted_facts: Option<GivenValues>,
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenValues {
    values: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CatalogOptions {
    capture_logs: bool,
    log_level: CapturedLevel,
    prefer_requested_environment: bool,
}

/// The least urgent messages that are captured.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CapturedLevel {
    Debug,
    #[default]
    Info,
    Warning,
    Err,
}

#[derive(Serialize)]
struct CatalogAnswer {
    catalog: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<Vec<LogDocument>>,
}

/// A message in the form of Puppet's logs.
#[derive(Serialize)]
struct LogDocument {
    level: &'static str,
    message: String,
    source: &'static str,
    tags: [&'static str; 1],
    time: String,
    file: Option<String>,
    line: Option<u32>,
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
    let text = body.await?.into_text().await?;
    let question = CatalogQuestionV4::parse(&text.json).map_err(PuppetApiFailure::into_text)?;
    // the queue of compilations bounds the facts that wait
    drop(text);
    let captured = question
        .options
        .capture_logs
        .then_some(question.options.log_level);
    let request = question
        .into_request(service)
        .map_err(PuppetApiFailure::into_text)?;
    let (service, certname) = (request.service.clone(), request.certname.clone());
    let compiled = Box::pin(server.agents.catalogs.service_catalog(request)).await;
    let compiled = compiled.map_err(|error| {
        let cause = chain(&error);
        tracing::warn!(service, %certname, error = cause, "a service gets no catalog");
        catalog_failure(error).into_text()
    })?;
    let milliseconds = compiled.took.as_millis();
    let environment = compiled.environment.as_str();
    tracing::info!(service, %certname, environment, milliseconds, "catalog compiled for a service");
    Ok(Json(CatalogAnswer::new(compiled, captured)).into_response())
}

/// Refuses the route by which plans of Puppet Enterprise have `apply` blocks compiled.
pub(super) async fn refuse_compile(caller: PuppetApiCaller) -> Result<Response, PuppetApiFailure> {
    caller.require_certname()?;
    Err(PuppetApiFailure::text(
        StatusCode::NOT_IMPLEMENTED,
        "This server does not compile syntax trees (code_ast). Run plans with apply blocks on it, with `tutti plan \
         run`, or request /puppet/v4/catalog for the catalog of a node.",
    ))
}

impl CatalogQuestionV4 {
    fn parse(json: &str) -> Result<Self, PuppetApiFailure> {
        decode_errors::json::object_from_slice(json.as_bytes())
            .map_err(|error| PuppetApiFailure::bad_request(format!("Invalid input: {error}")))
    }

    fn into_request(self, service: String) -> Result<ServiceCatalogRequest, PuppetApiFailure> {
        let invalid = |name: &str, error: &dyn std::fmt::Display| {
            PuppetApiFailure::bad_request(format!("Invalid input: {name}: {error}"))
        };
        let certname: Result<Certname, _> = self.certname.parse();
        let environment: Result<EnvironmentName, _> = self.environment.parse();
        for (name, id) in [
            ("transaction_uuid", &self.transaction_uuid),
            ("job_id", &self.job_id),
        ] {
            if id.as_ref().is_some_and(|id| id.len() > ID_BYTES_MAX) {
                return Err(invalid(
                    name,
                    &format!("it is longer than {ID_BYTES_MAX} bytes"),
                ));
            }
        }
        Ok(ServiceCatalogRequest {
            service,
            certname: certname.map_err(|error| invalid("certname", &error))?,
            environment: environment.map_err(|error| invalid("environment", &error))?,
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

impl CatalogAnswer {
    fn new(compiled: ServiceCatalog, captured: Option<CapturedLevel>) -> Self {
        let time = Timestamp::now().to_string();
        let logs = captured.map(|level| {
            let logs = compiled.logs.iter();
            let logs = logs.filter(|log| urgency(log.level) >= level as u8);
            logs.map(|log| LogDocument::new(log, &time)).collect()
        });
        Self {
            catalog: compiled.document,
            logs,
        }
    }
}

impl LogDocument {
    fn new(log: &CompileLog, time: &str) -> Self {
        let level = level_name(log.level);
        let location = &log.location;
        let place = location.to_string();
        Self {
            level,
            message: match place.is_empty() {
                true => log.message.clone(),
                false => format!("{} {place}", log.message),
            },
            source: "Puppet",
            tags: [level],
            time: time.to_owned(),
            file: location.file.as_deref().map(str::to_owned),
            line: (location.line > 0).then_some(location.line),
        }
    }
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Notice => "notice",
        LogLevel::Warning => "warning",
        LogLevel::Err => "err",
        LogLevel::Alert => "alert",
        LogLevel::Emerg => "emerg",
        LogLevel::Crit => "crit",
    }
}

/// The captured level that includes a message.
fn urgency(level: LogLevel) -> u8 {
    let captured = match level {
        LogLevel::Debug => CapturedLevel::Debug,
        LogLevel::Info | LogLevel::Notice => CapturedLevel::Info,
        LogLevel::Warning => CapturedLevel::Warning,
        LogLevel::Err | LogLevel::Alert | LogLevel::Emerg | LogLevel::Crit => CapturedLevel::Err,
    };
    captured as u8
}
