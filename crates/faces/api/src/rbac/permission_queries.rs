//! Available permissions, and the permissions of users.

use std::sync::Arc;

use api_types::rbac::{ActionType, ObjectType, PermittedQuestion};
use axum::Json;
use axum::extract::State;
use rbac::catalog::OBJECT_TYPES;
use rbac::{PermissionInstance, RequestedPermission, UserIdentity};

use super::body::{RbacBody, id};
use super::refusal::schema;
use super::users::require_view_permission;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn types() -> Json<Vec<ObjectType>> {
    let types = OBJECT_TYPES.iter().map(|listed| ObjectType {
        object_type: listed.name.to_owned(),
        display_name: listed.display_name.to_owned(),
        description: listed.description.to_owned(),
        actions: listed.actions.iter().map(action).collect(),
    });
    Json(types.collect())
}

fn action(listed: &rbac::catalog::PermissionAction) -> ActionType {
    ActionType {
        name: listed.name.to_owned(),
        display_name: listed.display_name.to_owned(),
        description: listed.description.to_owned(),
        has_instances: listed.has_instances,
    }
}

pub(crate) async fn check_permissions(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<PermittedQuestion>,
) -> Result<Json<Vec<bool>>, ApiFailure> {
    let subject = subject(&api, &caller, &asked.token).await?;
    let may = |spec: &api_types::rbac::PermissionSpec| {
        let permission = RequestedPermission {
            object_type: &spec.object_type,
            action: &spec.action,
            instance: PermissionInstance::Named(&spec.instance),
        };
        api.access.authorize(&subject, permission).is_ok()
    };
    Ok(Json(asked.permissions.iter().map(may).collect()))
}

pub(crate) async fn own_instances(
    caller: ApiCaller,
    PathVariables((object_type, action)): PathVariables<(String, String)>,
) -> Result<Json<Vec<String>>, ApiFailure> {
    instances(&caller.0, &object_type, &action)
}

pub(crate) async fn instances_of_user(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables((object_type, action, user)): PathVariables<(String, String, String)>,
) -> Result<Json<Vec<String>>, ApiFailure> {
    let subject = subject(&api, &caller, &user).await?;
    instances(&subject, &object_type, &action)
}

fn instances(
    identity: &UserIdentity,
    object_type: &str,
    action: &str,
) -> Result<Json<Vec<String>>, ApiFailure> {
    if rbac::catalog::find(object_type, action).is_none() {
        let text = "there is no such permission; GET /rbac-api/v1/types lists all";
        return Err(schema("object_type", text).into());
    }
    Ok(Json(identity.permissions.instances(object_type, action)))
}

/// The current user, or any user if the caller may view users.
async fn subject(
    api: &SharedApiContext,
    caller: &ApiCaller,
    user: &str,
) -> Result<Arc<UserIdentity>, ApiFailure> {
    let id = id("token", user)?;
    if caller.0.user_id == id {
        return Ok(Arc::clone(&caller.0));
    }
    require_view_permission(api, caller, &id)?;
    Ok(Arc::new(api.access.load_identity(&id).await?))
}
