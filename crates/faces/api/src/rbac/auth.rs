//! Login, and tokens of the current user.

use std::net::SocketAddr;

use api_types::{ApiError, LoginRequest, TokenReply};
use axum::extract::{ConnectInfo, State};
use axum::{Extension, Json};
use https::PeerCertificate;
use rbac::defaults::TOKEN_TEXT_CHARS;
use rbac::{LoginOrigin, TokenLabel, TokenLifetime, TokenRequest};
use secrecy::{ExposeSecret as _, SecretString};

use super::refusal;
use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::failure::ApiFailure;

/// The client's address; without a listener that sets it, all requests share one.
pub(crate) type ClientPeerAddress = Option<Extension<ConnectInfo<SocketAddr>>>;

/// Logs in. Failures are counted for the client's address.
pub(crate) async fn login(
    State(api): State<SharedApiContext>,
    peer: ClientPeerAddress,
    certificate: Option<Extension<PeerCertificate>>,
    StrictBody(asked): StrictBody<LoginRequest>,
) -> Result<Json<TokenReply>, ApiFailure> {
    let password = SecretString::from(asked.password);
    let request = request(
        asked.lifetime.as_deref(),
        asked.label.as_deref(),
        asked.description,
        asked.client,
    )?;
    let certname = certificate
        .as_ref()
        .and_then(|certificate| certificate.certname());
    let origin = LoginOrigin {
        address: peer.map(|Extension(ConnectInfo(address))| address.ip()),
        certname: certname.map(str::to_owned),
    };
    let login = api.access.login(&asked.login, password, request, origin);
    let token = Box::pin(login).await.map_err(refusal::login_error)?;
    Ok(token_reply(&token))
}

pub(crate) fn token_reply(token: &SecretString) -> Json<TokenReply> {
    Json(TokenReply {
        token: token.expose_secret().to_owned(),
    })
}

/// Validates the request for a token and names its mistakes.
pub(crate) fn request(
    lifetime: Option<&str>,
    label: Option<&str>,
    description: Option<String>,
    client: Option<String>,
) -> Result<TokenRequest, ApiError> {
    let lifetime = lifetime.map(TokenLifetime::parse).transpose();
    let lifetime = lifetime.map_err(|error| ApiError::invalid("lifetime", error))?;
    let label = label.map(TokenLabel::parse).transpose();
    let label = label.map_err(|error| ApiError::invalid("label", error))?;
    Ok(TokenRequest {
        lifetime: lifetime.unwrap_or_default(),
        label,
        description: text("description", description)?,
        client: text("client", client)?,
    })
}

fn text(place: &str, text: Option<String>) -> Result<Option<String>, ApiError> {
    let too_long = |text: &String| text.chars().count() > TOKEN_TEXT_CHARS;
    if text.as_ref().is_some_and(too_long) {
        let what = format!("has more than {TOKEN_TEXT_CHARS} characters");
        return Err(ApiError::invalid(place, what));
    }
    Ok(text)
}
