//! The caller of a request: [`PuppetApiCaller`].

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use https::{PeerCertificate, VerifiedPeer};

use crate::failure::PuppetApiFailure;

/// Characters of a name of a request that a message shows.
const SHOWN_NAME: usize = 255;

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

    /// The certname of the caller, who must have a certificate of this CA.
    pub(crate) fn require_certname(&self) -> Result<&str, PuppetApiFailure> {
        self.certname().ok_or_else(|| {
            PuppetApiFailure::forbidden(
                "this is served to known nodes only; show a client certificate of this CA",
            )
        })
    }

    /// Puppet's extensions of the caller's certificate; none without a certificate.
    pub(crate) fn extensions(&self) -> BTreeMap<String, String> {
        let peer = self.certificate.0.as_ref();
        peer.map(|peer| peer.extensions.clone()).unwrap_or_default()
    }

    /// The certificate of the caller, which must have this name.
    pub(crate) fn require_own(&self, certname: &str) -> Result<&VerifiedPeer, PuppetApiFailure> {
        let caller = self.require_certname()?;
        match &self.certificate.0 {
            Some(peer) if peer.certname == certname => Ok(peer),
            _ => Err(PuppetApiFailure::forbidden(format!(
                "{caller} may not request what belongs to {}",
                certname.chars().take(SHOWN_NAME).collect::<String>()
            ))),
        }
    }
}
