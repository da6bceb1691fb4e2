//! `POST /tutti/v1/catalogs/{certname}/check`: whether the last catalog of the caller is still the right one.
//!
//! Agents of Tutti ask it before they start Puppet. Invariant: a node learns nothing about another one.

use agent_catalogs::CatalogState;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest as _, Path, Request, State};
use axum::http::StatusCode;
use environments::{EnvironmentName, EnvironmentNameError};
use error_causes::chain;
use pxp::{CatalogCheck, CatalogCheckAnswer};

use super::catalog::catalog_failure;
use super::server_state::{AgentServerState, identify};
use crate::defaults::{BODY_TIME, MAX_BODY_BYTES};
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;

pub(super) async fn post(
    State(server): State<AgentServerState>,
    Path(certname): Path<String>,
    caller: PuppetApiCaller,
    request: Request,
) -> Result<Json<CatalogCheckAnswer>, PuppetApiFailure> {
    let agent = identify(&caller, &certname)?;
    let body = read_body(request).await?;
    let question: CatalogCheck = decode_errors::json::object_from_slice(&body)
        .map_err(|error| PuppetApiFailure::bad_request(error.to_string()))?;
    let environment = question.environment.parse();
    let environment: EnvironmentName = environment
        .map_err(|error: EnvironmentNameError| PuppetApiFailure::bad_request(error.to_string()))?;
    if server.code.is_pinned(&certname, &environment) {
        return Ok(Json(CatalogCheckAnswer {
            current: false,
            reason: Some("a job of the node names a version of the code".to_owned()),
        }));
    }
    let catalogs = &server.agents.catalogs;
    let checking = catalogs.check_catalog(agent, environment, &question.catalog_uuid);
    let state = Box::pin(checking).await.map_err(|error| {
        tracing::warn!(certname, error = chain(&error), "a catalog is not compared");
        catalog_failure(error)
    })?;
    Ok(Json(match state {
        CatalogState::Current => CatalogCheckAnswer {
            current: true,
            reason: None,
        },
        CatalogState::Outdated { reason } => CatalogCheckAnswer {
            current: false,
            reason: Some(reason),
        },
    }))
}

/// The body, which must arrive within [`BODY_TIME`].
async fn read_body(request: Request) -> Result<Bytes, PuppetApiFailure> {
    let reading = Bytes::from_request(request, &());
    match tokio::time::timeout(BODY_TIME, reading).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(refused)) if refused.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Err(PuppetApiFailure::payload_too_large(format!(
                "the body has more than {MAX_BODY_BYTES} bytes"
            )))
        }
        Ok(Err(_)) => Err(PuppetApiFailure::bad_request("the body broke off")),
        Err(_) => Err(PuppetApiFailure::slow(BODY_TIME)),
    }
}
