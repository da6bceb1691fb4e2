//! `[telemetry]` of `tutti.toml`: [`TelemetrySection`].

use serde::Deserialize;

/// Destination of traces.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TelemetrySection {
    /// `http://HOST:4318`, to which `/v1/traces` is added; absent: traces are not sent.
    pub otlp_endpoint: Option<String>,
}
