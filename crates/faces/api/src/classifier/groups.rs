//! `GET`, `POST`, `PUT` and `DELETE` of groups.

use api_types::classifier::{GroupTree, GroupTrees, GroupsQuery, NodeGroup, NodeGroups};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use classifier::{EditError, EditedGroup, GroupDelta, GroupId, GroupInput, NodeGroupRight};

use super::body::{AnyJson, count, group_id, parse_with, take_page};
use super::caller::{CallerRights, demand_on_group, may_on_group};
use super::{refusal, responses};
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

/// The groups that the caller may see.
pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    QueryParameters(given): QueryParameters,
) -> Result<Json<NodeGroups>, ApiFailure> {
    let query = GroupsQuery::read(given)?;
    let groups = api.classifier.groups();
    let seen = groups
        .into_iter()
        .filter(|group| may_on_group(&api, &caller, NodeGroupRight::View, group.id));
    let page = take_page(seen.collect(), query.page);
    let shown = page.into_iter().map(|group| {
        if !query.inherited {
            return responses::group(&group);
        }
        // The group was deleted in the meantime: the version read before is used.
        let whole = api.classifier.group_with_inherited(group.id);
        whole.map_or_else(
            |_| responses::group(&group),
            |whole| responses::group(&whole),
        )
    });
    Ok(Json(NodeGroups(shown.collect())))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<NodeGroup>, ApiFailure> {
    let (id, query) = (group_id(&id)?, GroupsQuery::read(given)?);
    let group = match query.inherited {
        true => api.classifier.group_with_inherited(id),
        false => api.classifier.group(id).map(|group| (*group).clone()),
    };
    let group = group.map_err(refusal::unknown_error)?;
    demand_on_group(&api, &caller, NodeGroupRight::View, id)?;
    Ok(Json(responses::group(&group)))
}

/// Answers 303 with the location of the new group, as Puppet Enterprise does.
pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    body: AnyJson,
) -> Result<Response, ApiFailure> {
    let body = body.require_json()?;
    let input = parse_with(&body, GroupInput::parse)?;
    let created = api
        .classifier
        .create(input, CallerRights::new(&api, &caller))
        .await;
    let EditedGroup { group, .. } = created.map_err(refusal::edit_error)?;
    let id = group.map_or(GroupId::ROOT, |group| group.id);
    let place = base.root_url(&format!("classifier-api/v1/groups/{id}"));
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
}

/// Answers 201 for a new group, 200 for an existing one.
pub(crate) async fn put(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    body: AnyJson,
) -> Result<Response, ApiFailure> {
    let (id, body) = (group_id(&id)?, body.require_json()?);
    let input = parse_with(&body, GroupInput::parse)?;
    let rights = CallerRights::new(&api, &caller);
    let edited = api.classifier.put(id, input, rights).await;
    let edited = edited.map_err(refusal::edit_error)?;
    let status = match edited.before {
        None => StatusCode::CREATED,
        Some(_) => StatusCode::OK,
    };
    Ok((status, edited_group(&edited)?).into_response())
}

pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    body: AnyJson,
) -> Result<Json<NodeGroup>, ApiFailure> {
    let (id, body) = (group_id(&id)?, body.require_json()?);
    let delta = parse_with(&body, GroupDelta::parse)?;
    let rights = CallerRights::new(&api, &caller);
    let edited = api.classifier.update(id, delta, rights).await;
    edited_group(&edited.map_err(refusal::edit_error)?)
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    let rights = CallerRights::new(&api, &caller);
    let deleted = api.classifier.delete(group_id(&id)?, rights).await;
    deleted.map_err(refusal::edit_error)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A group and its descendants, as far as the caller may see them.
pub(crate) async fn children(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(mut given): QueryParameters,
) -> Result<Json<GroupTrees>, ApiFailure> {
    let id = group_id(&id)?;
    let depth = count(&mut given, "depth")?.unwrap_or(u32::MAX);
    given.finish()?;
    api.classifier.group(id).map_err(refusal::unknown_error)?;
    Ok(Json(GroupTrees(trees(&api, &caller, id, depth))))
}

/// The group with its descendants, or the visible groups below it if the caller may not see it.
fn trees(api: &SharedApiContext, caller: &ApiCaller, id: GroupId, depth: u32) -> Vec<GroupTree> {
    let Ok(children) = api.classifier.children(id) else {
        return Vec::new();
    };
    let below = || {
        let deeper = depth.checked_sub(1);
        let each = children.iter().filter_map(|child| Some((child, deeper?)));
        each.flat_map(|(child, depth)| trees(api, caller, child.id, depth))
            .collect()
    };
    if !may_on_group(api, caller, NodeGroupRight::View, id) {
        return below();
    }
    let Ok(group) = api.classifier.group(id) else {
        return Vec::new();
    };
    vec![GroupTree {
        group: responses::group(&group),
        children: below(),
        immediate_child_count: children.len() as u64,
    }]
}

fn edited_group(edited: &EditedGroup) -> Result<Json<NodeGroup>, ApiFailure> {
    let group = edited.group.as_ref();
    let group = group.ok_or_else(|| refusal::edit_error(EditError::Stale))?;
    Ok(Json(responses::group(group)))
}
