//! Roles.

use api_types::rbac::{NewRole, PermissionSpec, Role, RolePermissions, RoleUpdate};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use rbac::{PermissionGrant, RoleSpec, RoleView};

use super::body::{RbacBody, ids, location, role_id, same_id};
use super::refusal;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
) -> Result<Json<Vec<Role>>, ApiFailure> {
    let roles = api.access.roles().await?;
    Ok(Json(roles.into_iter().map(role).collect()))
}

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(new): RbacBody<NewRole>,
) -> Result<impl IntoResponse, ApiFailure> {
    let spec = RoleSpec {
        display_name: new.display_name,
        description: new.description,
        permissions: grants(new.permissions),
        user_ids: ids("user_ids", &new.user_ids)?,
        group_ids: ids("group_ids", &new.group_ids)?,
    };
    let id = Box::pin(api.access.create_role(&caller.0, spec)).await?;
    let made = role(api.access.role(id).await?);
    let location = location("roles", &id.to_string());
    Ok((StatusCode::CREATED, location, Json(made)))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    PathVariables(given): PathVariables<String>,
) -> Result<Json<Role>, ApiFailure> {
    Ok(Json(role(api.access.role(role_id(&given)?).await?)))
}

pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
    RbacBody(asked): RbacBody<RoleUpdate>,
) -> Result<Json<Role>, ApiFailure> {
    let id = role_id(&given)?;
    same_id(&id.to_string(), &asked.id.to_string())?;
    let edit = rbac::RequestedPermission::any("user_roles", "edit");
    let members = rbac::RequestedPermission::any("user_roles", "edit_members");
    if api.access.authorize(&caller.0, members).is_err()
        && let Err(denied) = api.access.authorize(&caller.0, edit)
    {
        return Err(refusal::denied_error(&denied));
    }
    let spec = RoleSpec {
        display_name: asked.display_name,
        description: asked.description,
        permissions: grants(asked.permissions),
        user_ids: ids("user_ids", &asked.user_ids)?,
        group_ids: ids("group_ids", &asked.group_ids)?,
    };
    Box::pin(api.access.update_role(&caller.0, id, spec)).await?;
    Ok(Json(role(api.access.role(id).await?)))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    api.access.delete_role(&caller.0, role_id(&given)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn add_permissions(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<RolePermissions>,
) -> Result<StatusCode, ApiFailure> {
    let add = grants(asked.permissions);
    let change = api
        .access
        .change_permissions(&caller.0, asked.role_id, add, &[]);
    Box::pin(change).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn remove_permissions(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<RolePermissions>,
) -> Result<StatusCode, ApiFailure> {
    let remove = grants(asked.permissions);
    let (id, none) = (asked.role_id, Vec::new());
    let change = api.access.change_permissions(&caller.0, id, none, &remove);
    Box::pin(change).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) fn grants(specs: Vec<PermissionSpec>) -> Vec<PermissionGrant> {
    let grant =
        |spec: PermissionSpec| PermissionGrant::new(spec.object_type, spec.action, spec.instance);
    specs.into_iter().map(grant).collect()
}

fn role(view: RoleView) -> Role {
    let permission = |grant: PermissionGrant| PermissionSpec {
        object_type: grant.object_type,
        action: grant.action,
        instance: grant.instance,
    };
    let grants = view.permissions.into_iter().map(PermissionGrant::from);
    Role {
        id: view.id,
        display_name: view.display_name,
        description: view.description,
        permissions: grants.map(permission).collect(),
        user_ids: view.user_ids,
        group_ids: view.group_ids,
    }
}
