//! `GET /puppet/v3/node/{certname}`: the environment of the caller, which agents ask for before their
//! first run.

use axum::Json;
use axum::extract::{Path, State};
use error_causes::chain;
use serde::Serialize;

use super::server_state::{AgentServerState, identify};
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// A node as agents read it; they use the environment alone.
#[derive(Debug, Serialize)]
pub(super) struct NodeDocument {
    name: String,
    environment: String,
    parameters: NodeParameters,
}

#[derive(Debug, Serialize)]
struct NodeParameters {
    environment: String,
}

pub(super) async fn get(
    State(server): State<AgentServerState>,
    Path(certname): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Json<NodeDocument>, PuppetApiFailure> {
    let agent = identify(&caller, &certname)?;
    let requested = params.environment()?;
    let environment = server
        .agents
        .catalogs
        .environment_of(&agent, &requested)
        .await;
    let environment = environment.map_err(|error| PuppetApiFailure::server_error(chain(&error)))?;
    Ok(Json(NodeDocument {
        name: certname,
        environment: environment.to_string(),
        parameters: NodeParameters {
            environment: environment.to_string(),
        },
    }))
}
