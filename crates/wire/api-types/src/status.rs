//! Service status: `/status/v1/services`, `/status/v1/simple` and `/orchestrator/v1/status`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object};

/// Status of every service, by name.
pub type Services = BTreeMap<String, ServiceStatus>;

/// Status of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServiceStatus {
    /// Version of Tutti that is running.
    pub service_version: String,
    /// Version of the format of `status`.
    pub service_status_version: u32,
    /// Level of detail: `critical`, `info` or `debug`, as in the request.
    pub detail_level: String,
    /// Health of the service.
    pub state: ServiceState,
    /// Details; their keys depend on the service and the level.
    #[schema(value_type = Object)]
    pub status: Object,
    /// Always empty; present as in the format of Puppet Enterprise.
    #[schema(value_type = Vec<Object>)]
    pub active_alerts: Vec<Value>,
}

/// Health of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// The service works.
    Running,
    /// The service does not work.
    Error,
    /// The state could not be determined.
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
    /// Level of detail: `critical`, `info` or `debug`.
    pub level: &'static str,
    /// Time limit in seconds of the check that the database answers; at least 1, at most 60.
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
    /// Reads the query parameters.
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
