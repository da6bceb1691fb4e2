//! Who is at the other end: [`PeerCertificate`], an extension of every request.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

/// The verified client certificate of the connection, if the client showed one.
#[derive(Debug, Clone, Default)]
pub struct PeerCertificate(pub Option<Arc<Peer>>);

/// A client that proved to hold a certificate of our CA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The leaf certificate in DER.
    pub der: CertificateDer<'static>,
    /// Its common name.
    pub certname: String,
}

impl PeerCertificate {
    /// The certname, if there is a verified certificate.
    pub fn certname(&self) -> Option<&str> {
        self.0.as_deref().map(|peer| peer.certname.as_str())
    }

    /// Reads the peer of a finished handshake. A certificate without one common
    /// name speaks for nobody, so its holder counts as unknown.
    pub(crate) fn of(connection: &rustls::ServerConnection) -> Self {
        let leaf = connection
            .peer_certificates()
            .and_then(|chain| chain.first());
        let peer = leaf.and_then(|der| match pki::certname_of(der) {
            Ok(certname) => Some(Arc::new(Peer {
                der: der.clone().into_owned(),
                certname,
            })),
            Err(error) => {
                tracing::warn!(%error, "a client's certificate is of our CA but names nobody");
                None
            }
        });
        Self(peer)
    }
}
