//! The status of a server that follows the code of another one: [`follower_status_router`], the
//! router of its only listener.
//!
//! Invariants: the responses have the form of `/status/v1` on port 8143, without a token; names of
//! environments are included only at the level `debug`.

use std::sync::Arc;

use api_types::file_sync::REPOSITORY;
use api_types::status::StatusQuery;
use api_types::{Object, ServiceState, ServiceStatus, Services, Timestamp, routes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use file_sync::{FollowerStatus, LeaseKnowledge, SyncState};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::failure::ApiFailure;
use crate::mount::{method_not_allowed_error, not_found_on_follower};
use crate::request_parameters::{PathVariables, QueryParameters};
use crate::status::{FILE_SYNC_CLIENT, STATUS, code, find_service, report};

/// A follower, with the version of Tutti that it runs.
struct WatchedFollower {
    version: String,
    follower: watch::Receiver<FollowerStatus>,
}

type SharedFollower = Arc<WatchedFollower>;

/// Creates the router, to be served over HTTPS, of a follower with this version of Tutti.
pub fn follower_status_router(
    version: String,
    follower: watch::Receiver<FollowerStatus>,
) -> Router {
    let watched = WatchedFollower { version, follower };
    Router::new()
        .route(routes::SERVICES.path, get(services))
        .route(routes::SERVICE.path, get(service))
        .route(routes::SIMPLE.path, get(simple))
        .route(routes::SIMPLE_SERVICE.path, get(simple_service))
        .method_not_allowed_fallback(method_not_allowed_error)
        .fallback(not_found_on_follower)
        .with_state(Arc::new(watched))
}

async fn services(
    State(watched): State<SharedFollower>,
    QueryParameters(given): QueryParameters,
) -> Result<(StatusCode, Json<Services>), ApiFailure> {
    let services = watched.all_services(&StatusQuery::read(given)?);
    Ok((code(services.values()), Json(services)))
}

async fn service(
    State(watched): State<SharedFollower>,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<(StatusCode, Json<ServiceStatus>), ApiFailure> {
    let status = find_service(watched.all_services(&StatusQuery::read(given)?), &name)?;
    Ok((code([&status]), Json(status)))
}

async fn simple(State(watched): State<SharedFollower>) -> (StatusCode, String) {
    let state = state(&watched.follower.borrow());
    (status_code_of(state), state.to_string())
}

async fn simple_service(
    State(watched): State<SharedFollower>,
    PathVariables(name): PathVariables<String>,
) -> Result<(StatusCode, String), ApiFailure> {
    let status = find_service(watched.all_services(&StatusQuery::default()), &name)?;
    Ok((code([&status]), status.state.to_string()))
}

/// The service state: running if this machine compiles the live code. A follower that is fetching a
/// version counts as running: its version was live a moment ago, and all followers are in this
/// state at once.
fn state(following: &FollowerStatus) -> ServiceState {
    match (following.knowledge, following.sync_state()) {
        (LeaseKnowledge::Unknown, _) => ServiceState::Unknown,
        (_, SyncState::Error) => ServiceState::Error,
        (_, SyncState::Ok | SyncState::NewCommits) => ServiceState::Running,
    }
}

fn status_code_of(state: ServiceState) -> StatusCode {
    match state {
        ServiceState::Running => StatusCode::OK,
        ServiceState::Error | ServiceState::Unknown => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn sync_state_name(state: SyncState) -> &'static str {
    match state {
        SyncState::Ok => "ok",
        SyncState::NewCommits => "new-commits",
        SyncState::Error => "error",
    }
}

fn following_json(following: &FollowerStatus, is_debug: bool) -> Value {
    let mut shown = json!({
        "status": sync_state_name(following.sync_state()),
        "latest_commit": {"commit": following.combined_commit().as_str()},
        "last_check_in_time": following.heard_ms.map(Timestamp::from_ms),
    });
    if is_debug {
        let each = following.environments.iter().map(|(of, it)| {
            let mut shown = json!({
                "status": sync_state_name(it.sync_state_with(following.knowledge)),
                "latest_commit": it.live.as_ref().map(|live| json!({"commit": live.as_str()})),
                "generation": it.generation,
            });
            if let Some(cause) = &it.cause {
                shown["cause"] = json!(cause);
            }
            (of.to_string(), shown)
        });
        let submodules: Object = each.collect();
        let repository = json!({
            "status": shown["status"],
            "latest_commit": shown["latest_commit"],
            "submodules": submodules,
        });
        shown["repos"] = json!({REPOSITORY: repository});
    }
    shown
}

// === impl WatchedFollower ===

impl WatchedFollower {
    fn all_services(&self, query: &StatusQuery) -> Services {
        let following = self.follower.borrow().clone();
        let client = following_json(&following, query.level == "debug");
        let status = |state, status| report(&self.version, query, state, status);
        Services::from([
            (
                FILE_SYNC_CLIENT.to_owned(),
                status(state(&following), client),
            ),
            (STATUS.to_owned(), status(ServiceState::Running, json!({}))),
        ])
    }
}
