//! LDAP directories: read, configure and test.

use std::time::Instant;

use api_types::rbac::{DirectoryTest, FoundUser, LdapDelete, LdapId, LdapSettings, LdapTest};
use api_types::{ApiError, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use external_directories::{DirectoryChangeError, LdapError, LdapServer, LdapUser, SettingsError};
use rbac::{DirectoryChange, DirectoryReach};
use serde_json::{Value, json};

use super::body::{RbacBody, id};
use super::refusal::schema;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

/// Version 1 of the API supports only one directory.
pub(crate) async fn first_directory(State(api): State<SharedApiContext>) -> Json<Value> {
    let first = api
        .external_directories
        .directories
        .list()
        .into_iter()
        .next();
    Json(first.map_or_else(|| json!({}), |settings| json!(settings)))
}

pub(crate) async fn put(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(given): RbacBody<Value>,
) -> Result<Json<Value>, ApiFailure> {
    let settings = match is_empty_settings(&given) {
        true => None,
        false => Some(read(given)?),
    };
    let _turn = begin_change(&api, &caller, DirectoryReach::Every).await?;
    Box::pin(api.external_directories.directories.replace_all(settings)).await?;
    Ok(first_directory(State(api)).await)
}

pub(crate) async fn list(State(api): State<SharedApiContext>) -> Json<Vec<LdapSettings>> {
    Json(api.external_directories.directories.list())
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    PathVariables(given): PathVariables<String>,
) -> Result<Json<LdapSettings>, ApiFailure> {
    let id = id("directory", &given)?;
    let server = api.external_directories.directories.server(Some(&id))?;
    Ok(Json(server.settings().clone()))
}

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(settings): RbacBody<LdapSettings>,
) -> Result<(StatusCode, Json<LdapId>), ApiFailure> {
    if settings.id.is_some() {
        return Err(schema("id", "the id: the server gives it").into());
    }
    let _turn = begin_change(&api, &caller, DirectoryReach::Every).await?;
    let id = Box::pin(api.external_directories.directories.create(settings)).await?;
    Ok((StatusCode::CREATED, Json(LdapId { id })))
}

pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(settings): RbacBody<LdapSettings>,
) -> Result<Json<LdapId>, ApiFailure> {
    let Some(given) = settings.id.clone() else {
        return Err(schema("id", "the id is missing: it says which directory is meant").into());
    };
    let id = id("id", &given)?;
    let _turn = begin_change(&api, &caller, DirectoryReach::Every).await?;
    Box::pin(api.external_directories.directories.update(&id, settings)).await?;
    Ok(Json(LdapId { id }))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<LdapDelete>,
) -> Result<StatusCode, ApiFailure> {
    let id = id("id", &asked.id)?;
    let origin = external_directories::ldap_origin(&id);
    let _turn = begin_change(&api, &caller, DirectoryReach::Origin(&origin)).await?;
    Box::pin(api.external_directories.directories.delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses a caller who lacks a right that the changed directory could give. No rights change until
/// the returned guard is dropped.
async fn begin_change(
    api: &SharedApiContext,
    caller: &ApiCaller,
    reach: DirectoryReach<'_>,
) -> Result<DirectoryChange, ApiFailure> {
    let change = api.access.begin_directory_change(&caller.0, reach);
    Ok(Box::pin(change).await?)
}

pub(crate) async fn test_first(
    State(api): State<SharedApiContext>,
) -> Result<Response, ApiFailure> {
    let server = api.external_directories.directories.server(None)?;
    test_result(&server, None, None).await
}

pub(crate) async fn test_candidate(
    State(api): State<SharedApiContext>,
    RbacBody(settings): RbacBody<LdapSettings>,
) -> Result<Response, ApiFailure> {
    let server = api.external_directories.directories.test_server(settings)?;
    test_result(&server, None, None).await
}

pub(crate) async fn test(
    State(api): State<SharedApiContext>,
    RbacBody(asked): RbacBody<LdapTest>,
) -> Result<Response, ApiFailure> {
    let directories = &api.external_directories.directories;
    let server = match (asked.settings, asked.id) {
        (Some(settings), None) => directories.test_server(settings)?,
        (None, Some(given)) => directories.server(Some(&id("id", &given)?))?,
        _ => return Err(schema("id", "give an id or settings, and not both").into()),
    };
    test_result(&server, asked.user.as_deref(), asked.group.as_deref()).await
}

/// Success and failure alike have the form `{elapsed, error}`; a missing user or group has its own
/// kind.
async fn test_result(
    server: &LdapServer,
    user: Option<&str>,
    group: Option<&str>,
) -> Result<Response, ApiFailure> {
    let begun = Instant::now();
    let looked = look_up(server, user, group).await;
    let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (status, user, error) = match looked {
        Ok(user) => (StatusCode::OK, user, None),
        Err(LookupResult::Missing(error)) => return Err(error.into()),
        Err(LookupResult::Failed(error @ LdapError::NotUnique { .. })) => {
            let refused = ApiError::new(kinds::NON_UNIQUE_LOOKUP_ATTR, error.to_string());
            return Err(refused.into());
        }
        Err(LookupResult::Failed(error)) => {
            (StatusCode::BAD_REQUEST, None, Some(error.to_string()))
        }
    };
    let test = DirectoryTest {
        elapsed,
        error,
        user: user.map(found_user),
    };
    Ok((status, Json(test)).into_response())
}

enum LookupResult {
    Missing(ApiError),
    Failed(LdapError),
}

async fn look_up(
    server: &LdapServer,
    user: Option<&str>,
    group: Option<&str>,
) -> Result<Option<LdapUser>, LookupResult> {
    server.test().await.map_err(LookupResult::Failed)?;
    let mut found = None;
    if let Some(login) = user {
        found = server
            .find_user(login)
            .await
            .map_err(LookupResult::Failed)?;
        if found.is_none() {
            let msg = format!("the directory has no user {login:?}, or has disabled that user");
            let refused = ApiError::new(kinds::NO_SUCH_USER_LDAP, msg);
            return Err(LookupResult::Missing(refused));
        }
    }
    if let Some(name) = group
        && !server.has_group(name).await.map_err(LookupResult::Failed)?
    {
        return Err(LookupResult::Missing(unknown_group_error(name)));
    }
    Ok(found)
}

pub(crate) fn unknown_group_error(name: &str) -> ApiError {
    let msg = format!("the directory has no group {name:?}");
    ApiError::new(kinds::NO_SUCH_GROUP_LDAP, msg)
}

pub(crate) fn unavailable(error: &LdapError) -> ApiError {
    ApiError::new(kinds::DIRECTORY_UNAVAILABLE, error.to_string())
}

fn found_user(user: LdapUser) -> FoundUser {
    FoundUser {
        login: user.login,
        display_name: user.display_name,
        email: user.email,
        groups: user.groups,
    }
}

/// True for `{}` or only null values, with which clients delete the directory.
fn is_empty_settings(given: &Value) -> bool {
    let values = given.as_object().map(|object| object.values());
    values.is_some_and(|mut values| values.all(Value::is_null))
}

fn read(given: Value) -> Result<LdapSettings, ApiError> {
    // The error names the key and repeats no value, because it could be the password.
    decode_errors::json::from_value(given).map_err(|error| {
        let key = error.unknown_key().or(error.missing_key());
        schema(
            key.unwrap_or(error.path()),
            "this is not among the settings of a directory, or is missing, or wrong",
        )
    })
}

impl From<SettingsError> for ApiFailure {
    fn from(error: SettingsError) -> Self {
        schema(error.place, &error.to_string()).into()
    }
}

impl From<DirectoryChangeError> for ApiFailure {
    fn from(error: DirectoryChangeError) -> Self {
        let text = error.to_string();
        let refused = match error {
            DirectoryChangeError::Settings(error) => return error.into(),
            DirectoryChangeError::Unknown(id) => {
                ApiError::new(kinds::RBAC_NOT_FOUND, text).with("id", json!(id))
            }
            DirectoryChangeError::Fixed
            | DirectoryChangeError::TooMany
            | DirectoryChangeError::Several => ApiError::new(kinds::CONFLICT, text),
            DirectoryChangeError::Store(_) => {
                return Self::internal("write the directories", &error);
            }
        };
        refused.into()
    }
}
