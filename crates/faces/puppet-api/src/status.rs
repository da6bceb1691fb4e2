//! `GET /status/v1/simple`: the text `running`, for load balancers, and for agents whose setting
//! `server_list` names several servers.

use axum::Router;
use axum::routing::get;

pub(crate) fn router() -> Router {
    Router::new()
        .route("/status/v1/simple", get(async || "running"))
        .route("/status/v1/simple/server", get(async || "running"))
        // agents of Puppet 6 and earlier
        .route("/status/v1/simple/master", get(async || "running"))
}
