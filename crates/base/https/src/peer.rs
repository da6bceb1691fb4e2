//! Verified client certificate of a connection: [`PeerCertificate`], an extension of every request.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

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
    /// Puppet's extensions of the certificate, once they were needed.
    extensions: OnceLock<BTreeMap<String, String>>,
}

impl VerifiedPeer {
    /// The holder of a certificate with this common name.
    pub fn new(der: CertificateDer<'static>, certname: String) -> Self {
        Self {
            der,
            certname,
            extensions: OnceLock::new(),
        }
    }

    /// Puppet's extensions of the certificate, which are read once for all requests of a connection.
    ///
    /// # Errors
    /// The bytes are not a certificate.
    pub fn extensions(&self) -> Result<&BTreeMap<String, String>, IdentityError> {
        if let Some(known) = self.extensions.get() {
            return Ok(known);
        }
        let read = pki::puppet_extensions(&self.der)?;
        Ok(self.extensions.get_or_init(|| read))
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
        let peer = leaf.and_then(|der| match pki::certname_of(der) {
            Ok(certname) => Some(Arc::new(VerifiedPeer::new(
                der.clone().into_owned(),
                certname,
            ))),
            Err(error) => {
                tracing::warn!(%error, "the certificate of a client is valid but has no usable certname; the client counts as unknown");
                None
            }
        });
        Self(peer)
    }
}
