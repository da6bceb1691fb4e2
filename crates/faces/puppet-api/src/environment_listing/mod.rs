//! Environments and what they contain, as other tools list it:
//!
//! ```text
//! GET /puppet/v3/environments
//! GET /puppet/v3/environment/{environment}[?code_id=…]
//! GET /puppet/v3/tasks?environment=…
//! GET /puppet/v3/tasks/{module}/{task}?environment=…
//! GET /puppet/v3/environment_classes?environment=…
//! GET /puppet/v3/environment_modules[?environment=…]
//! GET /puppet/v3/environment_transports?environment=…
//! GET /puppet/v3/plans?environment=…
//! GET /puppet/v3/plans/{module}/{plan}?environment=…
//! ```
//!
//! Only holders of a verified client certificate may read. Puppet's default rules allow environments and
//! tasks to all of them, and the others to none: those are forbidden without rules of an `auth.conf`.
//!
//! Invariant: a client has no more than its share of the reads at once.

mod application_graph;
mod code_listing;
mod documents;
mod task_documents;

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use catalogs::Catalogs;
use environments::{CodeReader, CodeVersion, EnvironmentName};
use serde::Serialize;

use crate::defaults::{LISTING_WAIT, LISTINGS_AT_ONCE, LISTINGS_OF_NODE};
use crate::failure::{PuppetApiFailure, closed_route};
use crate::files::code_failure;
use crate::node_shares::{NodeShares, NodeTurn};
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// Characters of a name of a request that a message shows.
const SHOWN_NAME: usize = 255;

/// State of the handlers.
#[derive(Debug, Clone)]
struct ListingServer {
    code: Arc<dyn CodeReader>,
    codedir: Arc<FilePath>,
    catalogs: Catalogs,
    turns: NodeShares,
}

/// The routes; `has_rules` if an `auth.conf` decides who may read.
pub(crate) fn router(
    code: Arc<dyn CodeReader>,
    codedir: PathBuf,
    catalogs: Catalogs,
    has_rules: bool,
) -> Router {
    let closed = |route: MethodRouter<ListingServer>| match has_rules {
        true => route,
        false => get(closed_route),
    };
    Router::new()
        .route(
            "/puppet/v3/environments",
            get(async |State(server): State<ListingServer>, caller| {
                server.answer(&caller, ListingServer::environments).await
            }),
        )
        .route("/puppet/v3/tasks", of_environment(ListingServer::tasks))
        .route(
            "/puppet/v3/tasks/{module}/{task}",
            of_module(ListingServer::task),
        )
        .route(
            "/puppet/v3/environment/{environment}",
            closed(get(application_graph::application_graph)),
        )
        .route(
            "/puppet/v3/environment_classes",
            closed(get(code_listing::classes)),
        )
        .route(
            "/puppet/v3/environment_transports",
            closed(get(code_listing::transports)),
        )
        .route(
            "/puppet/v3/environment_modules",
            closed(get(documents::list_modules)),
        )
        .route(
            "/puppet/v3/plans",
            closed(of_environment(ListingServer::plans)),
        )
        .route(
            "/puppet/v3/plans/{module}/{plan}",
            closed(of_module(ListingServer::plan)),
        )
        .with_state(ListingServer {
            code,
            codedir: codedir.into(),
            catalogs,
            turns: NodeShares::new(LISTINGS_OF_NODE).with_total(LISTINGS_AT_ONCE),
        })
}

/// A route of a document about the environment that the query names.
fn of_environment<T: Serialize + Send + 'static>(
    read: fn(&ListingServer, &EnvironmentName) -> Result<T, PuppetApiFailure>,
) -> MethodRouter<ListingServer> {
    get(
        move |State(server): State<ListingServer>, caller: PuppetApiCaller, params: QueryParams| async move {
            caller.require_certname()?;
            let environment = environment_of(&params)?;
            server
                .answer(&caller, move |server| read(server, &environment))
                .await
        },
    )
}

/// A route of a document about a task or plan of a module.
fn of_module<T: Serialize + Send + 'static>(
    read: fn(&ListingServer, &EnvironmentName, &str, &str) -> Result<T, PuppetApiFailure>,
) -> MethodRouter<ListingServer> {
    get(
        move |State(server): State<ListingServer>,
              Path((module, name)): Path<(String, String)>,
              caller: PuppetApiCaller,
              params: QueryParams| async move {
            caller.require_certname()?;
            let environment = environment_of(&params)?;
            server
                .answer(&caller, move |server| {
                    read(server, &environment, &module, &name)
                })
                .await
        },
    )
}

/// The environment that a query names.
fn environment_of(params: &QueryParams) -> Result<EnvironmentName, PuppetApiFailure> {
    let invalid = |message: String| PuppetApiFailure::text(StatusCode::BAD_REQUEST, message);
    let name = params
        .get("environment")?
        .ok_or_else(|| invalid("An environment parameter must be specified".to_owned()))?;
    name.parse().map_err(|_| {
        invalid(format!(
            "The environment must be purely alphanumeric, not '{}'",
            shown(name)
        ))
    })
}

/// The begin of a name of a request, for messages.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_NAME).collect()
}

impl ListingServer {
    /// Reads a document on a thread that may block, when it is the caller's turn.
    async fn answer<T: Serialize + Send + 'static>(
        self,
        caller: &PuppetApiCaller,
        read: impl FnOnce(&Self) -> Result<T, PuppetApiFailure> + Send + 'static,
    ) -> Result<Response, PuppetApiFailure> {
        let _turn = self.take_turn(caller).await?;
        let reading = tokio::task::spawn_blocking(move || read(&self)).await;
        let document = reading.map_err(|panic| PuppetApiFailure::internal(&panic))??;
        Ok(Json(document).into_response())
    }

    async fn take_turn(&self, caller: &PuppetApiCaller) -> Result<NodeTurn, PuppetApiFailure> {
        let certname = caller.require_certname()?;
        self.turns.turn_within(certname, LISTING_WAIT).await
    }

    fn version(&self, name: &EnvironmentName) -> Result<Arc<dyn CodeVersion>, PuppetApiFailure> {
        match self.code.version(name) {
            Ok(version) => Ok(version),
            Err(error) if error.is_not_found() => Err(no_environment(name)),
            Err(error) => Err(code_failure(error)),
        }
    }
}

fn unknown(message: String) -> PuppetApiFailure {
    PuppetApiFailure::text(StatusCode::NOT_FOUND, message)
}

fn no_environment(name: &EnvironmentName) -> PuppetApiFailure {
    unknown(format!("Could not find environment '{name}'"))
}
