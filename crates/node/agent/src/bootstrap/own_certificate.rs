//! Check of the node's own certificate, existing or just received.
//!
//! [`UnusableCertificate`] contains the reason with the next step. Invariant: a certificate that
//! brokers refuse for a reason known to this node is never reported as usable.

use pcp::Certname;
use pki::{LoadError, OwnCertificateError, TlsFiles};

use super::CaUri;

/// Reason for which the certificate is of no use to this node.
#[derive(Debug, thiserror::Error)]
pub enum UnusableCertificate {
    /// The certificate was revoked by its CA.
    #[error(
        "the CA has revoked the certificate of '{certname}' in {file}; if this node is to have \
         another, make sure that the CA holds the old one no longer (tutti ca clean {certname}, or \
         puppetserver ca clean --certname {certname}) and run this again with --renew, which \
         replaces key and certificate"
    )]
    Revoked {
        /// Certname of this node.
        certname: Certname,
        /// Path of the certificate.
        file: String,
    },
    /// The certificate has expired.
    #[error(
        "the certificate of '{certname}' in {file} has expired; remove it at the CA (tutti ca clean \
         {certname}, or puppetserver ca clean --certname {certname}) and run this again with \
         --renew, which replaces key and certificate"
    )]
    Expired {
        /// Certname of this node.
        certname: Certname,
        /// Path of the certificate.
        file: String,
    },
    /// The certificate was issued by another CA than the installed one.
    #[error(
        "the certificate of '{certname}' in {file} was not issued by the CA in {ca}; if that CA is \
         the right one, run this again with --renew, which replaces key and certificate; if not, \
         remove {ca} as well"
    )]
    Foreign {
        /// Certname of this node.
        certname: Certname,
        /// Path of the certificate.
        file: String,
        /// Path of the CA bundle.
        ca: String,
    },
    /// The certificate was made for another key.
    #[error(
        "the certificate of '{certname}' in {file} does not fit the private key in {key}; put the \
         right key there, or remove the certificate at the CA (tutti ca clean {certname}, or \
         puppetserver ca clean --certname {certname}) and run this again with --renew, which \
         replaces key and certificate"
    )]
    OtherKey {
        /// Certname of this node.
        certname: Certname,
        /// Path of the certificate.
        file: String,
        /// Path of the private key.
        key: String,
    },
    /// Any other reason for which a broker refuses it.
    #[error(
        "the certificate of '{certname}' in {file} would be refused ({why}); to replace it, remove \
         it at the CA (tutti ca clean {certname}, or puppetserver ca clean --certname {certname}) \
         and run this again with --renew"
    )]
    Unusable {
        /// Certname of this node.
        certname: Certname,
        /// Path of the certificate.
        file: String,
        /// Text of the verifier's error.
        why: String,
    },
}

// === impl UnusableCertificate ===

impl UnusableCertificate {
    /// The same reason for a certificate that came from the CA and was not kept.
    pub(super) fn with_ca_server(mut self, server: &CaUri) -> Self {
        match &mut self {
            Self::Revoked { file, .. }
            | Self::Expired { file, .. }
            | Self::Foreign { file, .. }
            | Self::OtherKey { file, .. }
            | Self::Unusable { file, .. } => *file = format!("the store of {server}"),
        }
        self
    }
}

/// Checks the certificate of these files against the others. A file that cannot be used at all is a
/// separate error, because a renewal does not fix it.
pub(super) fn check(
    files: &TlsFiles,
    certname: &Certname,
) -> Result<Result<(), UnusableCertificate>, LoadError> {
    let certname = certname.clone();
    let file = files.cert.display().to_string();
    Ok(Err(match pki::verify_own(files) {
        Ok(()) => return Ok(Ok(())),
        Err(OwnCertificateError::Load(LoadError::Pair { .. })) => UnusableCertificate::OtherKey {
            certname,
            file,
            key: files.key.display().to_string(),
        },
        Err(OwnCertificateError::Load(error)) => return Err(error),
        Err(OwnCertificateError::Revoked) => UnusableCertificate::Revoked { certname, file },
        Err(OwnCertificateError::Expired) => UnusableCertificate::Expired { certname, file },
        Err(OwnCertificateError::Foreign) => UnusableCertificate::Foreign {
            certname,
            file,
            ca: files.ca.display().to_string(),
        },
        Err(OwnCertificateError::Other(why)) => UnusableCertificate::Unusable {
            certname,
            file,
            why: why.to_string(),
        },
    }))
}
