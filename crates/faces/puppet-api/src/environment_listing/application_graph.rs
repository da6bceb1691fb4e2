//! The applications of an environment with their components, as Puppet 4.3 to 6 gave them to orchestrators.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use catalogs::{CatalogError, CompileCaller, CompileOrigin, CompilePriority};
use environments::EnvironmentName;
use error_causes::chain;

use super::{ListingServer, shown};
use crate::failure::PuppetApiFailure;
use crate::files::code_failure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// `code_id` of the query names a version; without one it is the live one.
pub(super) async fn application_graph(
    State(server): State<ListingServer>,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    let certname = caller.require_certname()?.to_owned();
    let environment: EnvironmentName = name.parse().map_err(|_| not_known(&name))?;
    let code_id = params.get("code_id")?;
    let _turn = server.take_turn(&caller).await?;
    let origin = CompileOrigin {
        caller: CompileCaller::Client(certname),
        priority: CompilePriority::Foreground,
    };
    let catalogs = &server.catalogs;
    let graph = catalogs.application_graph(&environment, code_id, &origin);
    match graph.await {
        Ok(graph) => Ok(Json(&*graph).into_response()),
        Err(error) => Err(graph_failure(&name, error)),
    }
}

fn graph_failure(name: &str, error: CatalogError) -> PuppetApiFailure {
    match error {
        CatalogError::Code(error) if error.is_not_found() => not_known(name),
        CatalogError::Code(error) => code_failure(error),
        error @ (CatalogError::QueueFull(_)
        | CatalogError::WaitedTooLong { .. }
        | CatalogError::Stopping) => PuppetApiFailure::busy(chain(&error)),
        error => PuppetApiFailure::server_error(chain(&error)),
    }
}

fn not_known(name: &str) -> PuppetApiFailure {
    PuppetApiFailure::not_found(format!("{} is not a known environment", shown(name)))
}
