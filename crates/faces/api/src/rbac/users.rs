//! Users.

use api_types::rbac::{
    NewUser, UserFilter, UserList, UserName, UserPagination, UserRoles, UserUpdate, UsersOrder,
    UsersQuery,
};
use api_types::{ApiError, Order, PreciseTimestamp, User, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use rbac::{UserEdit, UserSpec, UserView};

use super::body::{RbacBody, id, location, same_id};
use super::refusal;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Vec<User>>, ApiFailure> {
    let wanted = UserFilter::read(given)?.ids;
    let unreadable = |_| ApiError::new(kinds::INVALID_ID_FILTER, "id: not a list of UUIDs");
    let wanted = wanted.map(|ids| ids.iter().map(|text| id("id", text)).collect());
    let wanted: Option<Vec<String>> = wanted.transpose().map_err(unreadable)?;
    let users = api.access.users().await?.into_iter();
    let users = users.filter(|view| {
        let wanted = wanted.as_ref();
        wanted.is_none_or(|ids| ids.contains(&view.row.id))
    });
    Ok(Json(users.map(user).collect()))
}

pub(crate) async fn page(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<UserList>, ApiFailure> {
    let query = UsersQuery::read(given)?;
    let mut users: Vec<User> = api.access.users().await?.into_iter().map(user).collect();
    if let Some(filter) = query.filter.as_ref().map(|text| text.to_lowercase()) {
        let has = |text: &String| text.to_lowercase().contains(&filter);
        users.retain(|user| {
            [&user.login, &user.display_name, &user.email]
                .into_iter()
                .any(has)
        });
    }
    // The list is sorted by login, which breaks ties.
    match query.order_by {
        UsersOrder::Login => {}
        UsersOrder::DisplayName => users.sort_by(|a, b| a.display_name.cmp(&b.display_name)),
        UsersOrder::Email => users.sort_by(|a, b| a.email.cmp(&b.email)),
        UsersOrder::LastLogin => users.sort_by_key(|user| user.last_login),
    }
    if query.order == Order::Desc {
        users.reverse();
    }
    let limit = query.page.limit.unwrap_or(UsersQuery::LIMIT);
    let pagination = UserPagination {
        limit,
        offset: query.page.offset,
        order_by: query.order_by.as_str().to_owned(),
        order: query.order,
        filter: query.filter.unwrap_or_default(),
        total: users.len() as u64,
    };
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let users = users.into_iter().skip(count(query.page.offset));
    let mut users: Vec<User> = users.take(count(limit)).collect();
    if !query.include_roles {
        users.iter_mut().for_each(|user| user.role_ids.clear());
    }
    Ok(Json(UserList { users, pagination }))
}

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(new): RbacBody<NewUser>,
) -> Result<impl IntoResponse, ApiFailure> {
    let spec = UserSpec {
        login: new.login,
        display_name: new.display_name,
        email: new.email,
        password: new.password.map(Into::into),
        role_ids: new.role_ids,
    };
    let id = Box::pin(api.access.create_user(&caller.0, spec)).await?;
    let made = user(api.access.user(&id).await?);
    Ok((StatusCode::CREATED, location("users", &id), Json(made)))
}

pub(crate) async fn current(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
) -> Result<Json<User>, ApiFailure> {
    Ok(Json(user(api.access.user(&caller.0.user_id).await?)))
}

/// The current user, or any user if the caller may view users.
pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
) -> Result<Json<User>, ApiFailure> {
    let id = id("user", &given)?;
    require_view_permission(&api, &caller, &id)?;
    Ok(Json(user(api.access.user(&id).await?)))
}

pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
    RbacBody(asked): RbacBody<UserUpdate>,
) -> Result<Json<User>, ApiFailure> {
    let id = id("user", &given)?;
    same_id(&id, &asked.id)?;
    require_view_permission(&api, &caller, &id)?;
    let update = UserEdit {
        login: asked.login,
        display_name: asked.display_name,
        email: asked.email,
        role_ids: asked.role_ids,
        is_revoked: asked.is_revoked,
    };
    Box::pin(api.access.update_user(&caller.0, &id, update)).await?;
    Ok(Json(user(api.access.user(&id).await?)))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    let id = id("user", &given)?;
    api.access.delete_user(&caller.0, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn add_roles(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<UserRoles>,
) -> Result<StatusCode, ApiFailure> {
    change_roles(&api, &caller, &asked.user_id, &asked.role_ids, &[]).await
}

pub(crate) async fn remove_roles(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<UserRoles>,
) -> Result<StatusCode, ApiFailure> {
    change_roles(&api, &caller, &asked.user_id, &[], &asked.role_ids).await
}

pub(crate) async fn revoke(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<UserName>,
) -> Result<StatusCode, ApiFailure> {
    let id = id("user_id", &asked.user_id)?;
    api.access.set_revoked(&caller.0, &id, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn reinstate(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<UserName>,
) -> Result<StatusCode, ApiFailure> {
    let id = id("user_id", &asked.user_id)?;
    api.access.set_revoked(&caller.0, &id, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn change_roles(
    api: &SharedApiContext,
    caller: &ApiCaller,
    user: &str,
    add: &[i64],
    remove: &[i64],
) -> Result<StatusCode, ApiFailure> {
    let id = id("user_id", user)?;
    let change = api.access.change_user_roles(&caller.0, &id, add, remove);
    Box::pin(change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks `console_page:view` for users other than the current one.
pub(crate) fn require_view_permission(
    api: &SharedApiContext,
    caller: &ApiCaller,
    user_id: &str,
) -> Result<(), ApiFailure> {
    if caller.0.user_id == user_id {
        return Ok(());
    }
    let asked = rbac::RequestedPermission::on("console_page", "view", "*");
    let allowed = api.access.authorize(&caller.0, asked);
    allowed.map_err(|denied| refusal::denied_error(&denied))
}

/// A user in the form of the API.
pub(crate) fn user(view: UserView) -> User {
    User {
        id: view.row.id,
        login: view.row.login,
        email: view.row.email,
        display_name: view.row.display_name,
        role_ids: view.role_ids,
        inherited_role_ids: view.inherited_role_ids,
        group_ids: view.group_ids,
        is_group: false,
        is_remote: view.row.is_remote,
        is_superuser: view.row.is_superuser,
        is_revoked: view.row.is_revoked || view.is_locked,
        last_login: view.row.last_login_ms.map(PreciseTimestamp::from_ms),
    }
}
