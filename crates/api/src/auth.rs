//! Tokens: log in, revoke, and who one is.

use std::net::SocketAddr;
use std::time::Duration;

use access::{AuthenticateError, Denied, Label, Lifetime, LoginError, RevokeError};
use api_types::{ApiError, LoginRequest, PreciseTimestamp, RevokeTokens, TokenReply, User, kinds};
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::Shared;
use crate::body::{Optional, Strict};
use crate::failure::Failure;
use crate::given::Given;
use crate::guard::Caller;

/// Failures count for the address that they come from; where no listener told it, all are one.
pub(crate) async fn login(
    State(api): State<Shared>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    Strict(asked): Strict<LoginRequest>,
) -> Result<Json<TokenReply>, Failure> {
    let password = SecretString::from(asked.password);
    let lifetime = asked.lifetime.as_deref().map(Lifetime::parse).transpose();
    let lifetime = lifetime.map_err(|error| ApiError::invalid("lifetime", error))?;
    let label = asked
        .label
        .as_deref()
        .map(|text| label("label", text))
        .transpose()?;
    let lifetime = lifetime.unwrap_or_default();
    let source = peer.map(|Extension(ConnectInfo(address))| address.ip());
    let token = api
        .access
        .login(&asked.login, password, lifetime, label, source)
        .await;
    let token = token.map_err(login_refusal)?;
    Ok(Json(TokenReply {
        token: token.expose_secret().to_owned(),
    }))
}

/// Revokes what the query and the body name. Whoever knows a token may end it; a label is one of
/// the caller's own.
pub(crate) async fn revoke(
    State(api): State<Shared>,
    Given(given): Given,
    caller: Caller,
    Optional(body): Optional<RevokeTokens>,
) -> Result<StatusCode, Failure> {
    let asked = [RevokeTokens::read(given)?, body.unwrap_or_default()];
    if asked.iter().all(RevokeTokens::is_empty) {
        let what = "name tokens here, or labels in revoke_tokens_by_labels";
        return Err(ApiError::invalid("revoke_tokens", what).into());
    }
    for token in asked.iter().flat_map(|asked| &asked.revoke_tokens) {
        api.access.revoke(token).await.map_err(revoke_refusal)?;
    }
    for text in asked
        .iter()
        .flat_map(|asked| &asked.revoke_tokens_by_labels)
    {
        let label = label("revoke_tokens_by_labels", text)?;
        api.access
            .revoke_label(&caller.0, &label)
            .await
            .map_err(revoke_refusal)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn current(caller: Caller) -> Json<User> {
    let identity = caller.0;
    Json(User {
        id: identity.user_id,
        login: identity.login,
        email: identity.email,
        display_name: identity.display_name,
        role_ids: Vec::new(),
        is_group: false,
        is_remote: false,
        is_superuser: identity.is_superuser,
        is_revoked: false,
        last_login: identity.last_login_ms.map(PreciseTimestamp::from_ms),
    })
}

fn label(place: &str, text: &str) -> Result<Label, ApiError> {
    Label::parse(text).map_err(|error| ApiError::invalid(place, error))
}

fn login_refusal(error: LoginError) -> Failure {
    let text = error.to_string();
    let refused = match error {
        LoginError::Wrong => ApiError::new(kinds::UNAUTHENTICATED, text),
        LoginError::LockedOut { wait } => {
            let seconds = (wait + Duration::from_millis(999)).as_secs();
            ApiError::new(kinds::LOCKED_OUT, text).with("retry_after_seconds", json!(seconds))
        }
        LoginError::Revoked => ApiError::new(kinds::USER_REVOKED, text),
        LoginError::LabelTaken(_) => ApiError::invalid("label", text),
        LoginError::Hash(_) | LoginError::Store(_) => return Failure::internal("log in", &error),
    };
    Failure(refused)
}

fn revoke_refusal(error: RevokeError) -> Failure {
    match error {
        RevokeError::NoLabel(_) => ApiError::invalid("revoke_tokens_by_labels", error).into(),
        RevokeError::Store(_) => Failure::internal("revoke tokens", &error),
    }
}

impl From<AuthenticateError> for Failure {
    fn from(error: AuthenticateError) -> Self {
        let kind = match error {
            AuthenticateError::Unknown => kinds::UNAUTHENTICATED,
            AuthenticateError::Expired => kinds::TOKEN_EXPIRED,
            AuthenticateError::UserRevoked => kinds::USER_REVOKED,
            AuthenticateError::Store(_) => return Self::internal("check the token", &error),
        };
        Self(ApiError::new(kind, error.to_string()))
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        let refused = ApiError::new(kinds::NOT_PERMITTED, denied.to_string());
        Self(refused.with("permission", json!(denied.permission)))
    }
}
