//! `GET /metrics`: the metrics of all engines in the text format of OpenMetrics.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use telemetry::metrics::{Gauge, MetricsRegistry, OPENMETRICS_TYPE};

use crate::SharedApiContext;

telemetry::metrics! {
    /// Metrics that are read when they are printed.
    struct NodeMetrics {
        /// Nodes that are connected.
        connected: Gauge = "nodes_connected",
    }
}

/// The metrics of all engines of `api`.
fn registry(api: &SharedApiContext) -> MetricsRegistry {
    let registry = MetricsRegistry::with_prefix("tutti")
        .with(&**api.jobs.metrics())
        .with(api.access.metrics())
        .with(api.audit.metrics())
        .with(api.webhooks.metrics())
        .with(&*api.scheduler.launch_counters);
    let others = api.info.metrics.iter();
    others.fold(registry, |registry, set| registry.with(&**set))
}

pub(crate) async fn metrics(State(api): State<SharedApiContext>) -> impl IntoResponse {
    let nodes = NodeMetrics::default();
    let connected = api.fabric.connected_nodes().len();
    nodes
        .connected
        .set(i64::try_from(connected).unwrap_or(i64::MAX));
    let text = registry(&api).with(&nodes).to_openmetrics();
    ([(header::CONTENT_TYPE, OPENMETRICS_TYPE)], text)
}
