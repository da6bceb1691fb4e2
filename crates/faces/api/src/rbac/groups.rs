//! Groups of users.

use api_types::rbac::{Group, GroupImport, GroupUpdate};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use rbac::{GroupSpec, GroupView};

use super::body::{RbacBody, id, location, same_id};
use super::refusal::schema;
use super::{external_directories, group_origin};
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
) -> Result<Json<Vec<Group>>, ApiFailure> {
    let groups = api.access.groups().await?;
    Ok(Json(groups.into_iter().map(group).collect()))
}

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<GroupImport>,
) -> Result<impl IntoResponse, ApiFailure> {
    let origin = group_origin::origin_of_import(&api.external_directories, &asked).await?;
    let spec = GroupSpec {
        origin,
        login: asked.login,
        display_name: asked.display_name,
        role_ids: asked.role_ids,
    };
    let id = Box::pin(api.access.create_group(&caller.0, spec)).await?;
    let made = group(api.access.group(&id).await?);
    Ok((StatusCode::CREATED, location("groups", &id), Json(made)))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    PathVariables(given): PathVariables<String>,
) -> Result<Json<Group>, ApiFailure> {
    let id = id("group", &given)?;
    Ok(Json(group(api.access.group(&id).await?)))
}

pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
    RbacBody(asked): RbacBody<GroupUpdate>,
) -> Result<Json<Group>, ApiFailure> {
    let id = id("group", &given)?;
    same_id(&id, &asked.id)?;
    // A caller who may not change any group learns nothing about existing groups.
    let members = rbac::RequestedPermission::any("user_roles", "edit_members");
    let import = rbac::RequestedPermission::any("user_groups", "import");
    if api.access.authorize(&caller.0, members).is_err()
        && let Err(denied) = api.access.authorize(&caller.0, import)
    {
        return Err(super::refusal::denied_error(&denied));
    }
    let present = api.access.group(&id).await?;
    if asked.login != present.row.login {
        return Err(schema("login", "the login is the directory's and cannot change").into());
    }
    let origin = asked.identity_provider_id.as_deref();
    let spec = GroupSpec {
        origin: origin
            .map(|id| group_origin::origin_of_directory(&api.external_directories, id))
            .transpose()?,
        login: asked.login,
        display_name: asked.display_name,
        role_ids: asked.role_ids,
    };
    Box::pin(api.access.update_group(&caller.0, &id, spec)).await?;
    Ok(Json(group(api.access.group(&id).await?)))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    let id = id("group", &given)?;
    api.access.delete_group(&caller.0, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn group(view: GroupView) -> Group {
    Group {
        id: view.row.id,
        login: view.row.login,
        display_name: view.row.display_name,
        role_ids: view.role_ids,
        user_ids: view.user_ids,
        is_group: true,
        is_remote: true,
        is_superuser: false,
        identity_provider_id: external_directories::provider_id(&view.row.origin),
    }
}
