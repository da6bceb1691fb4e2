//! Errors and small values that the parts of OpenID Connect share: [`OidcError`].

use reqwest::Url;
use sha2::{Digest as _, Sha256};

/// Address to which the provider redirects the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OidcRedirect {
    /// This server, at the configured URL.
    Web,
    /// A program on the user's own machine: `http://127.0.0.1:PORT/callback`.
    Loopback(String),
}

/// Cause of a failed login with the provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// The redirect URI is not permitted.
    #[error(
        "{0:?} is no address to come back to: http://127.0.0.1:PORT/callback is, and the one of the configuration"
    )]
    Redirect(String),
    /// The configuration does not permit this kind of login.
    #[error("the configuration does not permit this way: {0}")]
    NotConfigured(&'static str),
    /// The login is unknown, used, expired, or of another client.
    #[error(
        "this login was not begun here, has ended, or took longer than 10 minutes; begin again"
    )]
    Flow,
    /// The provider refused the login.
    #[error("the identity provider refuses the login: {0}")]
    Refused(String),
    /// The provider is unreachable, or its response is invalid.
    #[error("the identity provider cannot be asked: {0}")]
    Unavailable(String),
    /// The token is for another client, or not genuine.
    #[error("the identity provider's token is not accepted: {0}")]
    Token(String),
}

/// Hash by which secrets are kept and compared, so that the time of the comparison reveals nothing.
pub(super) fn digest_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// True if passwords and codes may be sent to this URL: HTTPS, or HTTP on loopback.
pub(super) fn is_safe(url: &Url) -> bool {
    let is_loopback = || match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let address: Option<std::net::IpAddr> = host.parse().ok();
            address.is_some_and(|address| address.is_loopback())
        }
        None => false,
    };
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    plain && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback()))
}
