//! `POST command/ping`: pings agents.

use api_types::{ApiError, PingCommand, PingItem, PingReply};
use axum::Json;
use axum::extract::State;
use jobs::PingResult;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::defaults::PING_NODES;
use crate::failure::ApiFailure;
use crate::scope::certnames;

pub(crate) async fn ping(
    State(api): State<SharedApiContext>,
    StrictBody(asked): StrictBody<PingCommand>,
) -> Result<Json<PingReply>, ApiFailure> {
    if asked.nodes.len() > PING_NODES {
        let what = format!("at most {PING_NODES} nodes can be pinged at once");
        return Err(ApiError::invalid("nodes", what).into());
    }
    let nodes = certnames("nodes", &asked.nodes)?;
    let items = api.jobs.ping(&nodes).await.iter().map(item).collect();
    Ok(Json(PingReply { items }))
}

fn item(ping: &PingResult) -> PingItem {
    let duration_ms = ping
        .result
        .as_ref()
        .ok()
        .map(|time| time.as_secs_f64() * 1_000.0);
    PingItem {
        name: ping.certname.to_string(),
        replied: duration_ms.is_some(),
        duration_ms,
        error: ping.result.as_ref().err().map(ToString::to_string),
    }
}
