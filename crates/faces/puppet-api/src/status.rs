//! `GET /status/v1/simple`: the text `running`, for load balancers.

use axum::Router;
use axum::routing::get;

pub(crate) fn router() -> Router {
    Router::new().route("/status/v1/simple", get(async || "running"))
}
