//! TLS of clients: [`ClientTls`] builds rustls configurations that verify the server's chain and
//! host name. A client reads its files at each connection attempt, so they need not be watched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::certnames::ServerCertnames;
use super::files::{LoadError, TlsFiles};
use super::material::{TrustedCas, own_chain};
use super::named_server::{NameRule, NamedServerVerifier};
use crate::pem_file;

/// Builders of client configurations.
#[derive(Debug, Clone, Copy)]
pub struct ClientTls;

impl ClientTls {
    /// Configuration with a client certificate: for agents, and brokers that connect to a
    /// controller.
    pub fn load(files: &TlsFiles) -> Result<Arc<ClientConfig>, LoadError> {
        let chain = own_chain(files)?;
        let key = pem_file::private_key(&files.key)?;
        let verifier = server_verifier(&files.ca, files.crl.as_deref())?;
        let mut config = builder()
            .with_webpki_verifier(verifier)
            .with_client_auth_cert(chain, key)
            .map_err(|source| LoadError::Pair {
                cert: files.cert.clone(),
                key: files.key.clone(),
                source,
            })?;
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }

    /// Configuration with a client certificate, for a server that must also have one of
    /// `certnames`: for connections over which this host receives requests or code.
    pub fn load_for(
        files: &TlsFiles,
        certnames: ServerCertnames,
    ) -> Result<Arc<ClientConfig>, LoadError> {
        let mut config = Arc::unwrap_or_clone(Self::load(files)?);
        let inner = server_verifier(&files.ca, files.crl.as_deref())?;
        config
            .dangerous()
            .set_certificate_verifier(Arc::new(NamedServerVerifier::new(
                inner,
                NameRule::Certnames(certnames),
            )));
        Ok(Arc::new(config))
    }

    /// Configuration without a client certificate: for users of the command line, who authenticate
    /// with a token.
    pub fn without_certificate(
        ca: &Path,
        crl: Option<&Path>,
    ) -> Result<Arc<ClientConfig>, LoadError> {
        let verifier = server_verifier(ca, crl)?;
        Ok(Arc::new(
            builder()
                .with_webpki_verifier(verifier)
                .with_no_client_auth(),
        ))
    }

    /// Configuration with the given check, for servers that are not part of Tutti; `identity` is a
    /// certificate and its key.
    pub fn with_certname_check(
        check: ServerCheck,
        identity: Option<(&Path, &Path)>,
    ) -> Result<Arc<ClientConfig>, LoadError> {
        let verifier: Arc<dyn ServerCertVerifier> = match check {
            ServerCheck::Full(ca) => server_verifier(&ca, None)?,
            ServerCheck::Chain(ca) => Arc::new(NamedServerVerifier::new(
                server_verifier(&ca, None)?,
                NameRule::Any,
            )),
            ServerCheck::By(verifier) => verifier,
            ServerCheck::Nothing => Arc::new(TrustOnFirstContact(super::provider())),
        };
        let builder = builder()
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let Some((cert, key)) = identity else {
            return Ok(Arc::new(builder.with_no_client_auth()));
        };
        let chain = pem_file::certificates(cert)?;
        let config = builder.with_client_auth_cert(chain, pem_file::private_key(key)?);
        config.map(Arc::new).map_err(|source| LoadError::Pair {
            cert: cert.to_owned(),
            key: key.to_owned(),
            source,
        })
    }

    /// Configuration for a new node that downloads the CA certificate and cannot verify its server
    /// yet. The caller must compare the fingerprint of the downloaded certificate, or state clearly
    /// that it trusts the first answer.
    pub fn first_contact() -> Arc<ClientConfig> {
        let trusting = Arc::new(TrustOnFirstContact(super::provider()));
        let config = builder()
            .dangerous()
            .with_custom_certificate_verifier(trusting);
        Arc::new(config.with_no_client_auth())
    }
}

/// Checks of a server's certificate.
#[derive(Debug, Clone)]
pub enum ServerCheck {
    /// A certificate of one of the CAs in this file, for the name of the host.
    Full(PathBuf),
    /// A certificate of one of the CAs in this file, for any name.
    Chain(PathBuf),
    /// The checks of this verifier.
    By(Arc<dyn ServerCertVerifier>),
    /// Only that the server holds the key of the certificate that it presents.
    Nothing,
}

pub(super) fn builder() -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    ClientConfig::builder_with_provider(super::provider())
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .expect("the provider supports TLS 1.2 and 1.3")
}

fn server_verifier(ca: &Path, crl: Option<&Path>) -> Result<Arc<WebPkiServerVerifier>, LoadError> {
    let trust = TrustedCas::read(ca, crl)?;
    let mut builder =
        WebPkiServerVerifier::builder_with_provider(Arc::new(trust.roots), super::provider())
            .with_crls(trust.crls);
    if !trust.every_ca_has_a_list {
        builder = builder.only_check_end_entity_revocation();
    }
    builder.build().map_err(|error| LoadError::Verifier {
        path: ca.to_owned(),
        what: error.to_string(),
    })
}

/// Accepts any certificate, but requires that the server holds its key.
#[derive(Debug)]
struct TrustOnFirstContact(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustOnFirstContact {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
