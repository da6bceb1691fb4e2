//! Verification of the certificates of clients: [`client_verifier`].
//!
//! Invariant: a handshake takes the same time however long the revocation lists are, except with lists that only
//! webpki can judge. Their signatures are verified once, when they are loaded; webpki verifies them again, over all
//! their bytes, for each client. The signature of a client's certificate is verified once too.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::time::ASN1Time;

use super::files::{LoadError, TlsFiles};
use super::material::TrustedCas;
use super::revocations::RevokedCertificates;
use super::server::ClientAuth;
use super::verified_clients::{ClientFingerprint, VerifiedClients};

/// The verifier of clients whose certificates the trusted CAs issued and did not revoke.
pub(super) fn client_verifier(
    files: &TlsFiles,
    trust: TrustedCas,
    client_auth: ClientAuth,
) -> Result<Arc<dyn ClientCertVerifier>, LoadError> {
    let only_leaf = !trust.every_ca_has_a_list;
    let webpki = |roots: RootCertStore, crls: Vec<CertificateRevocationListDer<'static>>| {
        webpki_verifier(files, (roots, crls), (client_auth, only_leaf))
    };
    // reads the lists too, so those that webpki does not understand are refused in any case
    let by_lists = webpki(trust.roots, trust.crls)?;
    if trust.revocations.has_no_list()
        || trust.needs_lists_in_handshakes
        || trust.listed_roots.is_empty()
    {
        return Ok(by_lists);
    }
    Ok(Arc::new(ListedClientVerifier {
        chain: webpki(trust.listed_roots, Vec::new())?,
        verified: VerifiedClients::default(),
        revocations: trust.revocations,
    }))
}

fn webpki_verifier(
    files: &TlsFiles,
    (roots, crls): (RootCertStore, Vec<CertificateRevocationListDer<'static>>),
    (client_auth, only_leaf): (ClientAuth, bool),
) -> Result<Arc<dyn ClientCertVerifier>, LoadError> {
    let roots = Arc::new(roots);
    let mut builder = WebPkiClientVerifier::builder_with_provider(roots, super::provider());
    builder = builder.with_crls(crls);
    if only_leaf {
        builder = builder.only_check_end_entity_revocation();
    }
    if client_auth == ClientAuth::Optional {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map_err(|error| LoadError::Verifier {
        path: files.ca.clone(),
        what: error.to_string(),
    })
}

fn is_valid_at(certificate: &X509Certificate<'_>, now: UnixTime) -> bool {
    let seconds = i64::try_from(now.as_secs()).ok();
    let now = seconds.and_then(|seconds| ASN1Time::from_timestamp(seconds).ok());
    now.is_some_and(|now| certificate.validity().is_valid_at(now))
}

/// Verifies the chain of a client, and looks its certificate up in the revocation lists.
#[derive(Debug)]
struct ListedClientVerifier {
    chain: Arc<dyn ClientCertVerifier>,
    /// Certificates that `chain` has verified.
    verified: VerifiedClients,
    revocations: Arc<RevokedCertificates>,
}

impl ListedClientVerifier {
    /// Verifies that a trusted CA issued a certificate that is valid now. Its signature is verified the first time only:
    /// agents open a connection for each run, and always with the same certificate. Nothing else reads a
    /// certificate before that.
    fn verify_chain<'c>(
        &self,
        leaf_der: &'c CertificateDer<'_>,
        now: UnixTime,
    ) -> Result<X509Certificate<'c>, rustls::Error> {
        // All CAs that have lists, and are not revoked themselves, are trusted directly. A CA that the client
        // presents has no list here, so what it issued is refused.
        let verify = || self.chain.verify_client_cert(leaf_der, &[], now);
        let fingerprint = ClientFingerprint::new(leaf_der);
        let is_known = self.verified.contains(&fingerprint);
        if !is_known {
            verify()?;
            self.verified.add(fingerprint);
        }
        let Ok((_, leaf)) = X509Certificate::from_der(leaf_der) else {
            return Err(CertificateError::BadEncoding.into());
        };
        if is_known && !is_valid_at(&leaf, now) {
            verify()?;
        }
        Ok(leaf)
    }

    fn check_not_revoked(&self, leaf: &X509Certificate<'_>) -> Result<(), CertificateError> {
        if !self.revocations.has_list_of(leaf.issuer().as_raw()) {
            return Err(CertificateError::UnknownRevocationStatus);
        }
        match self.revocations.revokes(leaf) {
            true => Err(CertificateError::Revoked),
            false => Ok(()),
        }
    }
}

impl ClientCertVerifier for ListedClientVerifier {
    fn offer_client_auth(&self) -> bool {
        self.chain.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.chain.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let leaf = self.verify_chain(end_entity, now)?;
        self.check_not_revoked(&leaf)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
