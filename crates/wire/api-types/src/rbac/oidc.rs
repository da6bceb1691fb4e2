//! Login through an identity provider (OIDC), for programs that listen on their own loopback
//! address.

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of `POST auth/oidc/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcStart {
    /// URL on which the program listens: `http://127.0.0.1:PORT/callback` or
    /// `http://[::1]:PORT/callback`.
    pub redirect_uri: String,
}

/// Login in progress. `Debug` omits the handle.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OidcStarted {
    /// URL to open in the browser.
    pub authorization_url: String,
    /// Value that the browser returns with the redirect.
    pub state: String,
    /// Secret that completes this login, together with `state` and `code`.
    pub handle: String,
}

/// Body of `POST auth/oidc/finish`. `Debug` omits handle and code.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcFinish {
    /// Value from the browser's redirect.
    pub state: String,
    /// Handle from the reply to `start`.
    pub handle: String,
    /// Authorization code from the browser's redirect.
    pub code: String,
    /// Lifetime of the token as `<number>[smhdy]`; limited to the longest that the server permits.
    #[serde(default)]
    pub lifetime: Option<String>,
    /// Label by which the token can be revoked; unique among the tokens of a user.
    #[serde(default)]
    pub label: Option<String>,
    /// Purpose of the token, in free text.
    #[serde(default)]
    pub description: Option<String>,
    /// Name of the program that requests the token.
    #[serde(default)]
    pub client: Option<String>,
}

partial_debug!(OidcStarted {});

partial_debug!(OidcFinish { label });
