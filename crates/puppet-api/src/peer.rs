//! The caller of a request: [`Caller`].

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use https::PeerCertificate;

/// The verified client certificate of the connection, or nobody.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) PeerCertificate);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        // Without the listener's extension there was no verified handshake.
        Ok(Self(parts.extensions.get().cloned().unwrap_or_default()))
    }
}

impl Caller {
    pub(crate) fn certname(&self) -> Option<&str> {
        self.0.certname()
    }
}
