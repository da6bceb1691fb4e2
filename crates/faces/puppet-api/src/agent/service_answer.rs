//! Parts of the questions of services that request catalogs, and the answer to them: [`catalog_answer`].

use std::fmt;

use agent_catalogs::{AgentCatalogError, ServiceCatalog};
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use compiler::CompileLog;
use error_causes::chain;
use evaluator::LogLevel;
use jiff::Timestamp;
use pcp::Certname;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::catalog::catalog_failure;
use crate::defaults::ID_BYTES_MAX;
use crate::failure::PuppetApiFailure;

/// Facts or variables, whose values may be secret, so they are not shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValuesDocument {
    pub(super) values: Map<String, Value>,
}

/// The least urgent messages that are captured.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CapturedLevel {
    Debug,
    #[default]
    Info,
    Warning,
    /// Also `error`, which is the name for blocks.
    #[serde(alias = "error")]
    Err,
}

#[derive(Serialize)]
struct ServiceCatalogAnswer {
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

impl ServiceCatalogAnswer {
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

/// The answer with the catalog that a service gets, or the reason that it gets none; either is logged. `of` says what
/// was compiled.
pub(super) fn catalog_answer(
    compiled: Result<ServiceCatalog, AgentCatalogError>,
    captured: Option<CapturedLevel>,
    (service, certname): (&str, &Certname),
    of: &'static str,
) -> Result<Response, PuppetApiFailure> {
    let compiled = compiled.map_err(|error| {
        let cause = chain(&error);
        tracing::warn!(service, %certname, of, error = cause, "a service gets no catalog");
        catalog_failure(error).into_text()
    })?;
    let milliseconds = compiled.took.as_millis();
    let environment = compiled.environment.as_str();
    tracing::info!(service, %certname, of, environment, milliseconds, "catalog compiled for a service");
    Ok(Json(ServiceCatalogAnswer::new(compiled, captured)).into_response())
}

/// Refuses ids that are too long to be any.
pub(super) fn check_ids(ids: [(&str, &Option<String>); 2]) -> Result<(), PuppetApiFailure> {
    for (name, id) in ids {
        if id.as_ref().is_some_and(|id| id.len() > ID_BYTES_MAX) {
            let reason = format!("it is longer than {ID_BYTES_MAX} bytes");
            return Err(invalid_input(name, &reason));
        }
    }
    Ok(())
}

/// The error for a value of a question.
pub(super) fn invalid_input(name: &str, error: &dyn fmt::Display) -> PuppetApiFailure {
    PuppetApiFailure::bad_request(format!("Invalid input: {name}: {error}"))
}
