//! `/status/v1/services`, `/status/v1/simple` and `/orchestrator/v1/status`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object};

/// Every service, by name.
pub type Services = BTreeMap<String, ServiceStatus>;

/// How a service is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServiceStatus {
    /// The version of Tutti.
    pub service_version: String,
    /// The version of `status`'s shape.
    pub service_status_version: u32,
    /// As asked.
    pub detail_level: String,
    /// Whether it works.
    pub state: ServiceState,
    /// More, for people and programs.
    #[schema(value_type = Object)]
    pub status: Object,
    /// What needs a look.
    #[schema(value_type = Vec<Object>)]
    pub active_alerts: Vec<Value>,
}

/// Whether a service works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// It does.
    Running,
    /// It does not.
    Error,
    /// Nobody knows.
    Unknown,
}

impl fmt::Display for ServiceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Error => "error",
            Self::Unknown => "unknown",
        })
    }
}

/// The query of the status routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusQuery {
    /// `critical`, `info` or `debug`.
    pub level: &'static str,
    /// How long a service may take to answer, in seconds.
    pub timeout: u64,
}

const LEVELS: &[(&str, &str)] = &[
    ("critical", "critical"),
    ("info", "info"),
    ("debug", "debug"),
];

impl Default for StatusQuery {
    fn default() -> Self {
        Self {
            level: "info",
            timeout: 30,
        }
    }
}

impl StatusQuery {
    /// From query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let usual = Self::default();
        let level = given.one_of("level", LEVELS)?.unwrap_or(usual.level);
        let timeout = given.number("timeout")?.unwrap_or(usual.timeout);
        given.finish()?;
        Ok(Self { level, timeout })
    }
}
