//! Status service and metrics on the agents' port.
//!
//! Paths and answers are those of other PCP brokers. Invariant: answers have numbers only and
//! nothing about a single client, because no certificate is needed to request them.

use serde_json::{Value, json};
use telemetry::metrics::{MetricsRegistry, OPENMETRICS_TYPE};

use crate::router::MessageRouter;

/// HTTP answer to a status request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StatusResponse {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusLevel {
    Critical,
    Info,
    Debug,
}

/// Answers a request that is no upgrade.
pub(crate) fn handle_request(router: &MessageRouter, method: &str, target: &str) -> StatusResponse {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let known = matches!(
        path,
        "/status/v1/services"
            | "/status/v1/services/broker-service"
            | "/status/v1/simple"
            | "/metrics"
    );
    if known && method != "GET" && method != "HEAD" {
        return text_response(405, "only GET is allowed here");
    }
    match path {
        "/status/v1/simple" => simple_status(router),
        "/status/v1/services/broker-service" => service_status(router, query, false),
        "/status/v1/services" => service_status(router, query, true),
        "/metrics" => StatusResponse {
            status: 200,
            content_type: OPENMETRICS_TYPE,
            body: MetricsRegistry::with_prefix("tutti_broker")
                .with(&router.metrics)
                .to_openmetrics(),
        },
        _ => text_response(404, "not found"),
    }
}

fn simple_status(router: &MessageRouter) -> StatusResponse {
    let state = overall_state(router);
    text_response(if state == "running" { 200 } else { 503 }, state)
}

fn service_status(router: &MessageRouter, query: &str, as_map: bool) -> StatusResponse {
    let Some(level) = parse_level(query) else {
        return text_response(400, "level is critical, info or debug");
    };
    let state = overall_state(router);
    let mut body = json!({
        "service_name": "broker-service",
        "service_version": env!("CARGO_PKG_VERSION"),
        "service_status_version": 1,
        "detail_level": level.name(),
        "state": state,
        "status": details(router, level),
        "active_alerts": [],
    });
    if as_map {
        body = json!({ "broker-service": body });
    }
    StatusResponse {
        status: if state == "running" { 200 } else { 503 },
        content_type: "application/json",
        body: body.to_string(),
    }
}

fn overall_state(router: &MessageRouter) -> &'static str {
    if router.sessions.is_stopping() {
        "stopping"
    } else if router.controllers.is_none_connected() {
        "error"
    } else {
        "running"
    }
}

fn details(router: &MessageRouter, level: StatusLevel) -> Value {
    if level == StatusLevel::Critical {
        return json!({});
    }
    let controllers: Vec<Value> = router
        .controllers
        .states()
        .iter()
        .map(|(uri, connected)| json!({ "uri": uri.as_str(), "connected": connected }))
        .collect();
    let metrics = &router.metrics;
    json!({
        "connections": router.sessions.len(),
        "controllers": controllers,
        "metrics": {
            "associations": metrics.opened.get(),
            "half-open-connections": metrics.half_open.get(),
            "messages-sent": metrics.messages_sent.get(),
            "bytes-received": metrics.bytes_received.get(),
            "bytes-sent": metrics.bytes_sent.get(),
            "sessions-superseded": metrics.superseded.get(),
            "sessions-revoked": metrics.revoked.get(),
        },
    })
}

fn parse_level(query: &str) -> Option<StatusLevel> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("level="));
    match value.unwrap_or("info") {
        "critical" => Some(StatusLevel::Critical),
        "info" => Some(StatusLevel::Info),
        "debug" => Some(StatusLevel::Debug),
        _ => None,
    }
}

impl StatusLevel {
    fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

fn text_response(status: u16, body: &str) -> StatusResponse {
    StatusResponse {
        status,
        content_type: "text/plain; charset=utf-8",
        body: body.to_owned(),
    }
}
