//! `GET`, `POST`, `PUT` and `DELETE` of groups.

use api_types::classifier::{GroupTree, GroupTrees, GroupsQuery, NodeGroup, NodeGroups};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use classifier::{EditError, EditedGroup, GroupDelta, GroupId, GroupInput, NodeGroupRight};

use super::body::{AnyJson, count, group_id, paged, parsed};
use super::caller::{CallerRights, demand_on_group, may_on_group};
use super::{refusal, responses};
use crate::Shared;
use crate::base::BaseUrl;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::request_parameters::{PathVariables, QueryParameters};

/// The groups that the caller may see.
pub(crate) async fn list(
    State(api): State<Shared>,
    caller: Caller,
    QueryParameters(given): QueryParameters,
) -> Result<Json<NodeGroups>, Failure> {
    let query = GroupsQuery::read(given)?;
    let groups = api.classifier.groups();
    let seen = groups
        .into_iter()
        .filter(|group| may_on_group(&api, &caller, NodeGroupRight::View, group.id));
    let page = paged(seen.collect(), query.page);
    let shown = page.into_iter().map(|group| {
        if !query.inherited {
            return responses::group(&group);
        }
        // It was deleted in between: the earlier version is used.
        let whole = api.classifier.group_with_inherited(group.id);
        whole.map_or_else(
            |_| responses::group(&group),
            |whole| responses::group(&whole),
        )
    });
    Ok(Json(NodeGroups(shown.collect())))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    caller: Caller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<NodeGroup>, Failure> {
    let (id, query) = (group_id(&id)?, GroupsQuery::read(given)?);
    let group = match query.inherited {
        true => api.classifier.group_with_inherited(id),
        false => api.classifier.group(id).map(|group| (*group).clone()),
    };
    let group = group.map_err(refusal::unknown)?;
    demand_on_group(&api, &caller, NodeGroupRight::View, id)?;
    Ok(Json(responses::group(&group)))
}

/// Answers 303 with the location of the new group, as Puppet Enterprise does.
pub(crate) async fn create(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    body: AnyJson,
) -> Result<Response, Failure> {
    let body = body.required()?;
    let input = parsed(&body, GroupInput::parse)?;
    let created = api
        .classifier
        .create(input, CallerRights::new(&api, &caller))
        .await;
    let EditedGroup { group, .. } = created.map_err(refusal::edit)?;
    let id = group.map_or(GroupId::ROOT, |group| group.id);
    let place = base.below(&format!("classifier-api/v1/groups/{id}"));
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
}

/// Answers 201 for a new group, 200 for an existing one.
pub(crate) async fn put(
    State(api): State<Shared>,
    caller: Caller,
    PathVariables(id): PathVariables<String>,
    body: AnyJson,
) -> Result<Response, Failure> {
    let (id, body) = (group_id(&id)?, body.required()?);
    let input = parsed(&body, GroupInput::parse)?;
    let rights = CallerRights::new(&api, &caller);
    let edited = api.classifier.put(id, input, rights).await;
    let edited = edited.map_err(refusal::edit)?;
    let status = match edited.before {
        None => StatusCode::CREATED,
        Some(_) => StatusCode::OK,
    };
    Ok((status, edited_group(&edited)?).into_response())
}

pub(crate) async fn update(
    State(api): State<Shared>,
    caller: Caller,
    PathVariables(id): PathVariables<String>,
    body: AnyJson,
) -> Result<Json<NodeGroup>, Failure> {
    let (id, body) = (group_id(&id)?, body.required()?);
    let delta = parsed(&body, GroupDelta::parse)?;
    let rights = CallerRights::new(&api, &caller);
    let edited = api.classifier.update(id, delta, rights).await;
    edited_group(&edited.map_err(refusal::edit)?)
}

pub(crate) async fn delete(
    State(api): State<Shared>,
    caller: Caller,
    PathVariables(id): PathVariables<String>,
) -> Result<StatusCode, Failure> {
    let rights = CallerRights::new(&api, &caller);
    let deleted = api.classifier.delete(group_id(&id)?, rights).await;
    deleted.map_err(refusal::edit)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A group and its descendants, as far as the caller may see them.
pub(crate) async fn children(
    State(api): State<Shared>,
    caller: Caller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(mut given): QueryParameters,
) -> Result<Json<GroupTrees>, Failure> {
    let id = group_id(&id)?;
    let depth = count(&mut given, "depth")?.unwrap_or(u32::MAX);
    given.finish()?;
    api.classifier.group(id).map_err(refusal::unknown)?;
    Ok(Json(GroupTrees(trees(&api, &caller, id, depth))))
}

/// The group, or the visible groups below it if it may not be seen.
fn trees(api: &Shared, caller: &Caller, id: GroupId, depth: u32) -> Vec<GroupTree> {
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

fn edited_group(edited: &EditedGroup) -> Result<Json<NodeGroup>, Failure> {
    let group = edited.group.as_ref();
    let group = group.ok_or_else(|| refusal::edit(EditError::Stale))?;
    Ok(Json(responses::group(group)))
}
