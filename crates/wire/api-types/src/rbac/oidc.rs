//! Login by an identity provider, for programs that listen on their own loopback address.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST auth/oidc/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcStart {
    /// `http://127.0.0.1:PORT/callback` or `http://[::1]:PORT/callback`, where the program
    /// listens.
    pub redirect_uri: String,
}

/// A login that was begun. Its `Debug` leaves the handle out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OidcStarted {
    /// Where to send the browser.
    pub authorization_url: String,
    /// What the browser comes back with.
    pub state: String,
    /// What ends this login, with `state` and `code`; for nobody else's eyes.
    pub handle: String,
}

/// `POST auth/oidc/finish`. Its `Debug` leaves handle and code out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcFinish {
    /// From the browser.
    pub state: String,
    /// From the start.
    pub handle: String,
    /// From the browser.
    pub code: String,
    /// `<number>[smhdy]`; no longer than the server permits, whatever is asked.
    #[serde(default)]
    pub lifetime: Option<String>,
    /// A name to revoke the token by; unique for each user.
    #[serde(default)]
    pub label: Option<String>,
    /// What the token is for.
    #[serde(default)]
    pub description: Option<String>,
    /// Which program asks.
    #[serde(default)]
    pub client: Option<String>,
}

impl fmt::Debug for OidcStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcStarted").finish_non_exhaustive()
    }
}

impl fmt::Debug for OidcFinish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcFinish")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
