//! The caller of a request: [`PuppetApiCaller`].

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use https::PeerCertificate;

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct PuppetApiCaller {
    /// The verified client certificate of the connection, if there is one.
    pub(crate) certificate: PeerCertificate,
    /// The IP address of the caller; `None` if it is not known.
    pub(crate) address: Option<IpAddr>,
}

impl<S: Sync> FromRequestParts<S> for PuppetApiCaller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        // Without the listener's extension there was no verified handshake.
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(Self {
            certificate: parts.extensions.get().cloned().unwrap_or_default(),
            address: peer.map(|ConnectInfo(address)| address.ip()),
        })
    }
}

impl PuppetApiCaller {
    pub(crate) fn certname(&self) -> Option<&str> {
        self.certificate.certname()
    }
}
