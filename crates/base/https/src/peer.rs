//! Verified client certificate of a connection: [`PeerCertificate`], an extension of every request.

use std::collections::BTreeMap;
use std::sync::Arc;

use pki::identity::IdentityError;
use rustls::pki_types::CertificateDer;

/// The verified client certificate of the connection; `None` if the client presented none.
#[derive(Debug, Clone, Default)]
pub struct PeerCertificate(pub Option<Arc<VerifiedPeer>>);

/// A client that proved to hold a certificate of our CA.
#[derive(Debug, Clone)]
pub struct VerifiedPeer {
    /// The leaf certificate in DER.
    pub der: CertificateDer<'static>,
    /// Common name of the certificate.
    pub certname: String,
    /// Puppet's extensions of the certificate, by short name, or by id where there is none.
    pub extensions: BTreeMap<String, String>,
}

impl VerifiedPeer {
    /// The holder of a verified certificate.
    ///
    /// # Errors
    /// The certificate has not exactly one common name.
    pub fn from_certificate(der: CertificateDer<'static>) -> Result<Self, IdentityError> {
        let identity = pki::identity_of(&der)?;
        Ok(Self {
            der,
            certname: identity.certname,
            extensions: identity.extensions,
        })
    }
}

impl PeerCertificate {
    /// Returns the certname; `None` without a verified certificate.
    pub fn certname(&self) -> Option<&str> {
        self.0.as_deref().map(|peer| peer.certname.as_str())
    }

    /// Reads the peer of a finished handshake. A certificate without exactly one
    /// common name does not identify a client, so its holder counts as unknown.
    pub(crate) fn from_connection(connection: &rustls::ServerConnection) -> Self {
        let leaf = connection
            .peer_certificates()
            .and_then(|chain| chain.first());
        let peer = leaf.map(|der| VerifiedPeer::from_certificate(der.clone().into_owned()));
        let peer = peer.and_then(|peer| match peer {
            Ok(peer) => Some(Arc::new(peer)),
            Err(error) => {
                tracing::warn!(%error, "the certificate of a client is valid but has no usable certname; the client counts as unknown");
                None
            }
        });
        Self(peer)
    }
}
