//! TLS towards directories and identity providers: whom we believe.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// With the CAs in `pem`, or with those of the machine.
pub(crate) fn client(pem: Option<&str>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let Some(pem) = pem else {
        let builder = builder.with_platform_verifier().map_err(|error| {
            tracing::debug!(%error, "the machine's CAs cannot be used");
            "this machine's list of CAs cannot be read; install ca-certificates, or name a file with the CA"
        })?;
        return Ok(builder.with_no_client_auth());
    };
    let mut roots = RootCertStore::empty();
    for (index, certificate) in CertificateDer::pem_slice_iter(pem.as_bytes()).enumerate() {
        let number = index + 1;
        let certificate = certificate.map_err(|error| {
            tracing::debug!(%error, number, "a CA's certificate is not PEM");
            format!("certificate {number} of the CA is not PEM")
        })?;
        roots.add(certificate).map_err(|error| {
            tracing::debug!(%error, number, "a CA's certificate cannot be used");
            format!("certificate {number} of the CA is no X.509 certificate that can be trusted")
        })?;
    }
    if roots.is_empty() {
        return Err("the CA's certificates are none: PEM is expected".to_owned());
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
