//! Login at an identity provider: of a browser that is redirected to this server, and of a program
//! that listens on its own loopback address.

use std::collections::HashMap;

use api_types::rbac::{OidcFinish, OidcStart, OidcStarted};
use api_types::{ApiError, TokenReply, kinds};
use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use external_directories::{OidcError, OidcProvider, OidcRedirect};
use rbac::{RemoteUser, TokenLifetime, TokenRequest};
use secrecy::{ExposeSecret as _, SecretString};

use super::auth::{request, token_reply};
use super::body::RbacBody;
use super::refusal::{self, schema};
use crate::SharedApiContext;
use crate::audit::LoginName;
use crate::failure::ApiFailure;

/// Cookie with the handle of a browser's login: no other browser can finish it.
const COOKIE: &str = "tutti_oidc";
const PATH: &str = "/rbac-api/v1/auth/oidc";

/// Starts the login of a program.
pub(crate) async fn start(
    State(api): State<SharedApiContext>,
    RbacBody(asked): RbacBody<OidcStart>,
) -> Result<Json<OidcStarted>, ApiFailure> {
    let redirect = OidcRedirect::Loopback(asked.redirect_uri);
    let started = provider(&api)?.start(redirect).await?;
    Ok(Json(OidcStarted {
        authorization_url: started.authorization_url,
        state: started.state,
        handle: started.handle.expose_secret().to_owned(),
    }))
}

/// Finishes the login of a program.
pub(crate) async fn finish(
    State(api): State<SharedApiContext>,
    RbacBody(asked): RbacBody<OidcFinish>,
) -> Result<Response, ApiFailure> {
    let oidc = provider(&api)?;
    let request = request(
        asked.lifetime.as_deref(),
        asked.label.as_deref(),
        asked.description,
        asked.client,
    )?;
    let handle = SecretString::from(asked.handle);
    let code = SecretString::from(asked.code);
    let user = Box::pin(oidc.finish(&asked.state, &handle, &code)).await?;
    Box::pin(log_in_remote_user(&api, oidc, user, request)).await
}

/// Starts the login of a browser.
pub(crate) async fn login(State(api): State<SharedApiContext>) -> Result<Response, ApiFailure> {
    let started = provider(&api)?.start(OidcRedirect::Web).await?;
    let handle = started.handle.expose_secret();
    let cookie =
        format!("{COOKIE}={handle}; Path={PATH}; Max-Age=600; Secure; HttpOnly; SameSite=Lax");
    let headers = [
        (header::LOCATION, started.authorization_url),
        (header::SET_COOKIE, cookie),
        no_store_header(),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// Finishes the login of a browser. The provider may add parameters of its own.
pub(crate) async fn callback(
    State(api): State<SharedApiContext>,
    Query(given): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, ApiFailure> {
    let oidc = provider(&api)?;
    let text = |name: &str| given.get(name).cloned().unwrap_or_default();
    let handle = SecretString::from(cookie(&headers).unwrap_or_default());
    let code = SecretString::from(text("code"));
    if given.contains_key("error") {
        let words: String = text("error").chars().take(100).collect();
        return Err(OidcError::Refused(words).into());
    }
    let user = Box::pin(oidc.finish(&text("state"), &handle, &code)).await?;
    let request = TokenRequest {
        client: Some("browser".to_owned()),
        ..TokenRequest::default()
    };
    let mut response = Box::pin(log_in_remote_user(&api, oidc, user, request)).await?;
    let gone = format!("{COOKIE}=; Path={PATH}; Max-Age=0; Secure; HttpOnly; SameSite=Lax");
    if let Ok(gone) = gone.parse() {
        response.headers_mut().insert(header::SET_COOKIE, gone);
    }
    Ok(response)
}

async fn log_in_remote_user(
    api: &SharedApiContext,
    oidc: &OidcProvider,
    user: RemoteUser,
    mut request: TokenRequest,
) -> Result<Response, ApiFailure> {
    let most = oidc.max_lifetime();
    if request.lifetime.as_duration() > most {
        request.lifetime = TokenLifetime::clamp(most);
    }
    let login = user.login.clone();
    let token = Box::pin(api.access.login_remote(user, request)).await;
    let token: Json<TokenReply> = token_reply(&token.map_err(refusal::login_error)?);
    let mut response = ([no_store_header()], token).into_response();
    response.extensions_mut().insert(LoginName(login));
    Ok(response)
}

fn provider(api: &SharedApiContext) -> Result<&OidcProvider, ApiError> {
    api.external_directories.oidc.as_ref().ok_or_else(|| {
        let msg = "no identity provider is configured; see directories.oidc in docs/server.md";
        ApiError::new(kinds::NOT_SUPPORTED, msg)
    })
}

fn no_store_header() -> (HeaderName, String) {
    (header::CACHE_CONTROL, "no-store".to_owned())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter();
    cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value.to_owned())
}

impl From<OidcError> for ApiFailure {
    fn from(error: OidcError) -> Self {
        let text = error.to_string();
        let refused = match error {
            OidcError::Redirect(_) => schema("redirect_uri", &text),
            OidcError::NotConfigured(_) => ApiError::new(kinds::NOT_SUPPORTED, text),
            OidcError::Flow | OidcError::Refused(_) | OidcError::Token(_) => {
                ApiError::new(kinds::UNAUTHENTICATED, text)
            }
            OidcError::Unavailable(_) => ApiError::new(kinds::DIRECTORY_UNAVAILABLE, text),
        };
        refused.into()
    }
}
