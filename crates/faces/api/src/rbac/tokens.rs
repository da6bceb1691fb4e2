//! Tokens: create, check, list and revoke.

use api_types::rbac::{
    AuthenticateToken, NewToken, TokenFacts, TokenItem, TokenList, TokensOrder, TokensQuery,
};
use api_types::{ApiError, Order, Pagination, PreciseTimestamp, RevokeTokens, TokenReply, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use rbac::{AuthenticateError, TokenLabel, TokenRevocation, TokenSession, TokenView};

use super::auth::{request, token_reply};
use super::body::{RbacBody, id};
use super::refusal;
use crate::SharedApiContext;
use crate::body::OptionalBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

/// Requires a token: a certificate is not enough.
pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<NewToken>,
) -> Result<Json<TokenReply>, ApiFailure> {
    if caller.0.user_id == rbac::API_USER_ID {
        let msg = "a program with a certificate has no need of a token, and gets none";
        return Err(ApiError::new(kinds::API_USER_LOGIN, msg).into());
    }
    let request = request(
        asked.lifetime.as_deref(),
        asked.label.as_deref(),
        asked.description,
        asked.client,
    )?;
    let token = api.access.issue_for(&caller.0, request).await;
    Ok(token_reply(&token.map_err(refusal::issue_error)?))
}

/// Any holder of a token may check it.
pub(crate) async fn authenticate(
    State(api): State<SharedApiContext>,
    RbacBody(asked): RbacBody<AuthenticateToken>,
) -> Result<Json<TokenFacts>, ApiFailure> {
    let session = api
        .access
        .session(&asked.token, asked.update_last_activity)
        .await;
    Ok(Json(token_facts(session.map_err(session_error)?)))
}

/// The status is not 401, because the error is about the token in the body, not that of the
/// request.
fn session_error(error: AuthenticateError) -> ApiFailure {
    let text = error.to_string();
    let (kind, status) = match error {
        AuthenticateError::Unknown => (kinds::INVALID_TOKEN, 400),
        AuthenticateError::Revoked => (kinds::TOKEN_REVOKED, 403),
        AuthenticateError::Expired => (kinds::TOKEN_EXPIRED, 403),
        AuthenticateError::TimedOut => (kinds::TOKEN_TIMED_OUT, 403),
        AuthenticateError::UserRevoked => (kinds::USER_REVOKED, 403),
        AuthenticateError::Store(_) => return ApiFailure::internal("check the token", &error),
    };
    let mut refused = ApiError::new(kind, text);
    refused.status = status;
    refused.into()
}

fn token_facts(session: TokenSession) -> TokenFacts {
    let TokenSession {
        identity,
        token,
        last_active_ms,
    } = session;
    let time = PreciseTimestamp::from_ms;
    let roles = identity.role_ids.iter().chain(&identity.inherited_role_ids);
    TokenFacts {
        id: token.id,
        user_id: identity.user_id.clone(),
        login: identity.login.clone(),
        email: identity.email.clone(),
        display_name: identity.display_name.clone(),
        role_ids: roles.copied().collect(),
        is_group: false,
        is_remote: identity.is_remote,
        is_superuser: identity.is_superuser,
        is_revoked: false,
        creation: time(token.created_ms),
        expiration: token.expires_ms.map(time),
        last_active: time(last_active_ms),
        last_login: identity.last_login_ms.map(time),
        label: token.label,
        description: token.description,
        client: token.client,
        timeout: token.timeout_ms.map(|ms| ms / 1_000),
    }
}

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(given): PathVariables<String>,
    QueryParameters(query): QueryParameters,
) -> Result<Json<TokenList>, ApiFailure> {
    let (user, query) = (id("user", &given)?, TokensQuery::read(query)?);
    let mut tokens = api.access.list_tokens(&caller.0, &user).await?;
    // The list is sorted by creation, which breaks ties.
    match query.order_by {
        TokensOrder::Creation => {}
        TokensOrder::Expiration => {
            tokens.sort_by_key(|token| token.row.expires_ms.unwrap_or(i64::MAX));
        }
        TokensOrder::LastActive => tokens.sort_by_key(|token| token.last_active_ms),
        TokensOrder::Client => tokens.sort_by(|a, b| a.row.client.cmp(&b.row.client)),
    }
    if query.order == Order::Desc {
        tokens.reverse();
    }
    let total = tokens.len() as u64;
    let pagination = Pagination::of(query.page, query.order_by.as_str(), query.order, total);
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let page = tokens.into_iter().skip(count(query.page.offset));
    let page = page.take(query.page.limit.map_or(usize::MAX, count));
    let items = page.map(item).collect();
    Ok(Json(TokenList { items, pagination }))
}

fn item(view: TokenView) -> TokenItem {
    let time = PreciseTimestamp::from_ms;
    TokenItem {
        id: view.row.id,
        creation_date: time(view.row.created_ms),
        expiration_date: view.row.expires_ms.map(time),
        last_active_date: time(view.last_active_ms),
        client: view.row.client,
        description: view.row.description,
        label: view.row.label,
        session_timeout: view.row.timeout_ms.map(|ms| ms / 1_000),
    }
}

pub(crate) async fn revoke_one(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(token): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    let revoked = api.access.revoke_one(&caller.0, &token).await;
    revoked.map_err(refusal::revoke_error)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes the tokens named by the query and the body.
pub(crate) async fn revoke(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
    caller: ApiCaller,
    OptionalBody(body): OptionalBody<RevokeTokens>,
) -> Result<StatusCode, ApiFailure> {
    let mut asked = RevokeTokens::read(given)?;
    asked.append(body.unwrap_or_default());
    if asked.is_empty() {
        let what = "name tokens here, or use revoke_tokens_by_labels, revoke_tokens_by_usernames \
                    or revoke_tokens_by_ids";
        return Err(ApiError::invalid("revoke_tokens", what).into());
    }
    let labels = asked.revoke_tokens_by_labels.iter();
    let labels = labels.map(|text| {
        TokenLabel::parse(text).map_err(|error| ApiError::invalid("revoke_tokens_by_labels", error))
    });
    let revocation = TokenRevocation {
        labels: labels.collect::<Result<_, _>>()?,
        tokens: asked.revoke_tokens,
        usernames: asked.revoke_tokens_by_usernames,
        ids: asked.revoke_tokens_by_ids,
    };
    let revoked = api.access.revoke(&caller.0, revocation);
    Box::pin(revoked).await.map_err(refusal::revoke_error)?;
    Ok(StatusCode::NO_CONTENT)
}
