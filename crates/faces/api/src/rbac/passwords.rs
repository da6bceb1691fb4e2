//! Passwords: change, reset and validate.

use api_types::rbac::{
    OwnPassword, PasswordFailure, PasswordReset, ResetToken, ValidateLogin, ValidatePassword,
    Validity,
};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::{Extension, Json};
use rbac::check_new_password;
use secrecy::{ExposeSecret as _, SecretString};

use super::auth::ClientPeerAddress;
use super::body::{RbacBody, id};
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::credentials::token;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn change_own(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    peer: ClientPeerAddress,
    headers: HeaderMap,
    uri: Uri,
    RbacBody(asked): RbacBody<OwnPassword>,
) -> Result<StatusCode, ApiFailure> {
    let shown = token(&headers, &uri);
    let source = peer.map(|Extension(ConnectInfo(address))| address.ip());
    let change = api.access.change_own_password(
        &caller.0,
        asked.current_password.into(),
        asked.password.into(),
        shown.as_deref(),
        source,
    );
    Box::pin(change).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn reset_token(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
) -> Result<Json<ResetToken>, ApiFailure> {
    let id = id("user", &given)?;
    let secret = Box::pin(api.access.reset_token(&caller.0, &id)).await?;
    Ok(Json(ResetToken(secret.expose_secret().to_owned())))
}

pub(crate) async fn reset(
    State(api): State<SharedApiContext>,
    RbacBody(asked): RbacBody<PasswordReset>,
) -> Result<StatusCode, ApiFailure> {
    let reset = api
        .access
        .reset_password(&asked.token, asked.password.into());
    Box::pin(reset).await?;
    Ok(StatusCode::OK)
}

pub(crate) async fn validate(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<ValidatePassword>,
) -> Result<Json<Validity>, ApiFailure> {
    let login = match &asked.reset_token {
        Some(token) => api.access.reset_login(token).await?,
        None => Some(caller.0.login.clone()),
    };
    let password = SecretString::from(asked.password);
    let fault = check_new_password(&password, login.as_deref()).err();
    let failure = fault.map(|fault| failure(fault.requirement(), &format!("the password {fault}")));
    Ok(Json(to_validity(failure)))
}

pub(crate) async fn validate_login(
    State(api): State<SharedApiContext>,
    RbacBody(asked): RbacBody<ValidateLogin>,
) -> Result<Json<Validity>, ApiFailure> {
    let login = asked.login.trim();
    let failure = if login.is_empty() {
        Some(failure("not-blank", "the login is blank"))
    } else if api.store.user_by_login(login).await?.is_some() {
        Some(failure("unique", "there is a user of this login already"))
    } else {
        None
    };
    Ok(Json(to_validity(failure)))
}

fn failure(rule: &str, text: &str) -> PasswordFailure {
    PasswordFailure {
        rule_identifier: rule.to_owned(),
        friendly_error: text.to_owned(),
    }
}

fn to_validity(failure: Option<PasswordFailure>) -> Validity {
    Validity {
        valid: failure.is_none(),
        failures: failure.into_iter().collect(),
    }
}
