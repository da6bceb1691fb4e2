//! The members of a role.

use api_types::rbac::{RoleGroups, RoleUsers};
use axum::extract::State;
use axum::http::StatusCode;
use rbac::MemberChange;

use super::body::{RbacBody, ids};
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;

pub(crate) async fn add_users(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<RoleUsers>,
) -> Result<StatusCode, ApiFailure> {
    let members = MemberChange {
        add_users: ids("user_ids", &asked.user_ids)?,
        ..MemberChange::default()
    };
    change(&api, &caller, asked.role_id, members).await
}

pub(crate) async fn remove_users(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<RoleUsers>,
) -> Result<StatusCode, ApiFailure> {
    let members = MemberChange {
        remove_users: ids("user_ids", &asked.user_ids)?,
        ..MemberChange::default()
    };
    change(&api, &caller, asked.role_id, members).await
}

pub(crate) async fn add_groups(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<RoleGroups>,
) -> Result<StatusCode, ApiFailure> {
    let members = MemberChange {
        add_groups: ids("group_ids", &asked.group_ids)?,
        ..MemberChange::default()
    };
    change(&api, &caller, asked.role_id, members).await
}

pub(crate) async fn remove_groups(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<RoleGroups>,
) -> Result<StatusCode, ApiFailure> {
    let members = MemberChange {
        remove_groups: ids("group_ids", &asked.group_ids)?,
        ..MemberChange::default()
    };
    change(&api, &caller, asked.role_id, members).await
}

async fn change(
    api: &SharedApiContext,
    caller: &ApiCaller,
    role: i64,
    members: MemberChange,
) -> Result<StatusCode, ApiFailure> {
    Box::pin(api.access.change_members(&caller.0, role, members)).await?;
    Ok(StatusCode::NO_CONTENT)
}
