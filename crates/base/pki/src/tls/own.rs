//! Check that peers accept this host's own certificate: [`verify_own`].
//!
//! Invariant: the certificate is checked as a broker or server checks it, by the same verifier with
//! the same files, so a certificate that passes here can be refused there only for reasons that
//! this node does not know.

use std::sync::Arc;

use rustls::CertificateError;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::UnixTime;

use super::ClientTls;
use super::files::{LoadError, TlsFiles};
use super::material::{TrustedCas, own_chain};

/// The reasons for which peers refuse a certificate.
#[derive(Debug, thiserror::Error)]
pub enum OwnCertificateError {
    /// A file cannot be used, or certificate and key do not match.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A revocation list contains the certificate.
    #[error("it has been revoked by its CA")]
    Revoked,
    /// The certificate has expired.
    #[error("it has expired")]
    Expired,
    /// The certificate was issued by another CA.
    #[error("it was not issued by a CA in the bundle")]
    Foreign,
    /// Any other error of the verifier.
    #[error("{0}")]
    Other(rustls::Error),
}

/// Checks the certificate of `files`: it matches the key, is issued by a CA of the bundle, is
/// within its validity period, is for clients, and no list of `files.crl` revokes it. A CA without
/// a list revokes nothing.
pub fn verify_own(files: &TlsFiles) -> Result<(), OwnCertificateError> {
    verify_at(files, UnixTime::now())
}

fn verify_at(files: &TlsFiles, now: UnixTime) -> Result<(), OwnCertificateError> {
    ClientTls::load(files)?;
    let chain = own_chain(files)?;
    let Some((leaf, intermediates)) = chain.split_first() else {
        return Err(OwnCertificateError::Foreign);
    };
    let trust = TrustedCas::read(&files.ca, files.crl.as_deref())?;
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(trust.roots), super::provider())
            .with_crls(trust.crls)
            .only_check_end_entity_revocation()
            .allow_unknown_revocation_status()
            .build()
            .map_err(|error| LoadError::Verifier {
                path: files.ca.clone(),
                what: error.to_string(),
            })?;
    match verifier.verify_client_cert(leaf, intermediates, now) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InvalidCertificate(why)) => Err(match why {
            CertificateError::Revoked => OwnCertificateError::Revoked,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                OwnCertificateError::Expired
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                OwnCertificateError::Foreign
            }
            other => OwnCertificateError::Other(other.into()),
        }),
        Err(error) => Err(OwnCertificateError::Other(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::ca::{GenerateOptions, InitOptions};
    use crate::{CertificateAuthority, KeyType};

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn now_and(ahead: Duration) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) + ahead)
    }

    fn new_ca(dir: &Path) -> CertificateAuthority {
        let options = InitOptions {
            common_name: "Puppet CA: test".into(),
            key_type: KeyType::EcP256,
        };
        CertificateAuthority::init(&dir.join("ca"), &options).unwrap()
    }

    fn node(dir: &Path, ca: &CertificateAuthority, lifetime: Duration) -> TlsFiles {
        let options = GenerateOptions {
            lifetime: Some(lifetime),
            ..GenerateOptions::default()
        };
        let made = ca.generate("node.test", &options).unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            cert: write("cert.pem", &made.cert_pem),
            key: write("key.pem", &made.key_pem),
            ca: write("ca.pem", &ca.ca_bundle().unwrap()),
            crl: Some(write("crl.pem", &ca.crl().unwrap().0)),
        }
    }

    #[test]
    fn a_certificate_is_good_in_its_time_and_until_a_list_revokes_it() {
        let dir = tempfile::tempdir().unwrap();
        let ca = new_ca(dir.path());
        let files = node(dir.path(), &ca, 2 * DAY);
        verify_own(&files).unwrap();
        verify_at(&files, now_and(DAY)).unwrap();
        let late = verify_at(&files, now_and(3 * DAY));
        assert!(
            matches!(late, Err(OwnCertificateError::Expired)),
            "{late:?}"
        );
        ca.revoke("node.test").unwrap();
        verify_own(&files).unwrap();
        std::fs::write(files.crl.as_ref().unwrap(), ca.crl().unwrap().0).unwrap();
        let revoked = verify_own(&files);
        assert!(
            matches!(revoked, Err(OwnCertificateError::Revoked)),
            "{revoked:?}"
        );
        // Without a list nothing is revoked.
        verify_own(&TlsFiles { crl: None, ..files }).unwrap();
    }

    #[test]
    fn certificates_of_other_cas_keys_and_kinds_are_told_apart() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ca = new_ca(dir.path());
        let files = node(dir.path(), &ca, DAY);
        // A CA of the same name, with another key; its list does not apply to our CA.
        let theirs = node(elsewhere.path(), &new_ca(elsewhere.path()), DAY);
        let foreign = verify_own(&TlsFiles {
            ca: files.ca.clone(),
            crl: files.crl.clone(),
            ..theirs.clone()
        });
        assert!(
            matches!(foreign, Err(OwnCertificateError::Foreign)),
            "{foreign:?}"
        );
        let pair = verify_own(&TlsFiles {
            key: theirs.key,
            ..files
        });
        assert!(
            matches!(pair, Err(OwnCertificateError::Load(LoadError::Pair { .. }))),
            "{pair:?}"
        );
    }
}
