//! Commands on many groups, and the validation of a group.

use api_types::classifier::{NodeGroup, UnpinnedGroup, UnpinnedNode, UnpinnedNodes};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use classifier::{ClassifierGroup, GroupInput, NodeGroupRight, UnpinResult, parse_import};

use super::body::{AnyJson, nodes, parse_with};
use super::caller::{CallerRights, demand_on_group};
use super::{refusal, responses};
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

/// Unpins nodes from every group whose rule the caller may edit.
pub(crate) async fn unpin_from_all(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    QueryParameters(given): QueryParameters,
    body: AnyJson,
) -> Result<Json<UnpinnedNodes>, ApiFailure> {
    let nodes = nodes(given, body)?;
    let rights = CallerRights::new(&api, &caller);
    let unpinned = api.classifier.unpin_from_all(nodes, rights).await;
    let group = |group: &ClassifierGroup| UnpinnedGroup {
        id: group.id.to_string(),
        name: group.name.clone(),
        environment: group.environment.clone(),
    };
    let node = |node: UnpinResult| UnpinnedNode {
        name: node.certname,
        groups: node.groups.iter().map(|one| group(one)).collect(),
    };
    let nodes = unpinned.map_err(refusal::edit_error)?;
    Ok(Json(UnpinnedNodes {
        nodes: nodes.into_iter().map(node).collect(),
    }))
}

pub(crate) async fn import(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    body: AnyJson,
) -> Result<StatusCode, ApiFailure> {
    let body = body.require_json()?;
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let groups = parse_with(&body, |json| parse_import(json, now_ms))?;
    let rights = CallerRights::new(&api, &caller);
    let done = api.classifier.import(groups, rights).await;
    done.map_err(refusal::edit_error)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn validate(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    body: AnyJson,
) -> Result<Json<NodeGroup>, ApiFailure> {
    let body = body.require_json()?;
    let input = parse_with(&body, GroupInput::parse)?;
    // A caller who may not view the parent group learns nothing about it.
    demand_on_group(&api, &caller, NodeGroupRight::View, input.parent)?;
    let group = api.classifier.validate(input).await;
    Ok(Json(responses::group(&group.map_err(refusal::edit_error)?)))
}
