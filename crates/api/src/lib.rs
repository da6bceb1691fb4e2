//! The HTTP API of port 8143 over the engines: [`router`].
//!
//! Handlers read a request into the types of `api-types`, ask an engine, and write its answer;
//! they decide nothing. The rules: every route of `api_types::routes` is mounted behind the
//! policy that it has there ([`access::Access::authorize`] is asked for all of them), every
//! failure is `{kind, msg, details}`, and the ids of objects are their absolute URLs.

mod auth;
mod base;
mod body;
mod controller;
pub mod defaults;
mod events;
mod failure;
mod given;
mod guard;
mod inventory;
mod jobs;
mod metrics;
mod mount;
mod nodes;
mod observe;
mod ping;
mod root;
mod scope;
mod state;
mod status;
mod stop;
mod stream;
mod task;
mod tasks;

use std::sync::Arc;

use api_types::routes;
use axum::Router;
use axum::middleware::from_fn;

pub use state::{ApiState, Info, MetricsSource};

pub(crate) use state::Shared;

use crate::mount::Mount;

/// The router, to be served over HTTPS.
pub fn router(state: ApiState) -> Router {
    let shared: Shared = Arc::new(state.into());
    Mount::new(shared)
        .on(&routes::ROOT, root::root)
        .on(&routes::ROOT_V1, root::root)
        .on(&routes::STATUS, status::orchestrator)
        .on(&routes::SWAGGER, root::swagger)
        .on(&routes::COMMAND_TASK, task::run)
        .on(&routes::COMMAND_STOP, stop::stop)
        .on(&routes::COMMAND_PING, ping::ping)
        .on(&routes::JOBS, jobs::list)
        .on(&routes::JOB, jobs::show)
        .on(&routes::JOB_NODES, nodes::list)
        .on(&routes::JOB_REPORT, nodes::report)
        .on(&routes::JOB_EVENTS, events::list)
        .on(&routes::EVENTS_STREAM, stream::stream)
        .on(&routes::TASKS, tasks::list)
        .on(&routes::TASK, tasks::show)
        .on(&routes::TASK_PERMITTED, tasks::permitted)
        .on(&routes::INVENTORY, inventory::list)
        .on(&routes::INVENTORY_NODE, inventory::show)
        .on(&routes::INVENTORY_QUERY, inventory::query)
        .on(&routes::AUTH_TOKEN, auth::login)
        .on(&routes::TOKENS_REVOKE, auth::revoke)
        .on(&routes::USER_CURRENT, auth::current)
        .on(&routes::SERVICES, status::services)
        .on(&routes::SERVICE, status::service)
        .on(&routes::SIMPLE, status::simple)
        .on(&routes::SIMPLE_SERVICE, status::simple_service)
        .on(&routes::METRICS, metrics::metrics)
        .on(&routes::CONTROLLER, controller::connect)
        .on(&routes::CONTROLLER_SERVER, controller::connect)
        .finish()
        .layer(from_fn(observe::observe))
}
