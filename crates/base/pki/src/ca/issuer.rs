//! The CA's certificate and key, ready to sign: [`CaIssuer`].
//!
//! Invariant: an issuer exists only if the key belongs to the certificate, the certificate is that
//! of a CA, and a trial signature has exactly its name as issuer, so that every issued certificate
//! chains to the CA.

use std::path::Path;

use rcgen::{CertificateParams, IsCa, KeyIdMethod, KeyPair, PublicKeyData, SerialNumber};
use rustls_pki_types::CertificateDer;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::error::OpenCaError;
use crate::{key, pem_file};

#[derive(Debug)]
pub(super) struct CaIssuer {
    signer: rcgen::Issuer<'static, KeyPair>,
    /// DER of the CA's subject: the issuer of everything that it signs.
    subject: Vec<u8>,
    key_id: KeyIdMethod,
}

impl CaIssuer {
    pub(super) fn load(cert: &Path, key_path: &Path) -> Result<Self, OpenCaError> {
        let unusable = |what: String| OpenCaError::Unusable {
            cert: cert.to_owned(),
            what,
        };
        let key = key::read(key_path)?;
        let bundle = pem_file::certificates(cert)?;
        let der = bundle
            .into_iter()
            .find(|der| belongs_to(der, &key))
            .ok_or_else(|| OpenCaError::KeyMismatch {
                cert: cert.to_owned(),
                key: key_path.to_owned(),
            })?;
        let (_, parsed) =
            X509Certificate::from_der(&der).map_err(|error| unusable(error.to_string()))?;
        refuse_other_than_ca(&parsed).map_err(|what| unusable(what.to_owned()))?;
        let subject = parsed.subject().as_raw().to_vec();
        let key_id = subject_key_id(&parsed).unwrap_or_else(|| key::identifier(&key));
        let signer = rcgen::Issuer::from_ca_cert_der(&der, key)
            .map_err(|error| unusable(error.to_string()))?;
        let key_id = KeyIdMethod::PreSpecified(key_id);
        let issuer = Self {
            signer,
            subject,
            key_id,
        };
        issuer.verify_trial_signature().map_err(unusable)?;
        Ok(issuer)
    }

    pub(super) fn signer(&self) -> &rcgen::Issuer<'static, KeyPair> {
        &self.signer
    }

    pub(super) fn subject(&self) -> &[u8] {
        &self.subject
    }

    /// The identifier of the CA's key for revocation lists: the same as in the CA's certificate,
    /// whatever digest its creator used.
    pub(super) fn key_id(&self) -> KeyIdMethod {
        self.key_id.clone()
    }

    /// Signs a temporary certificate and checks it.
    fn verify_trial_signature(&self) -> Result<(), String> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::ExplicitNoCa;
        params.serial_number = Some(SerialNumber::from(1));
        let trial = params
            .signed_by(self.signer.key(), &self.signer)
            .map_err(|error| format!("its key cannot sign: {error}"))?;
        let (_, parsed) = X509Certificate::from_der(trial.der())
            .map_err(|error| format!("it gives malformed certificates: {error}"))?;
        if parsed.issuer().as_raw() != self.subject {
            return Err(
                "its subject has a form that is not supported (several values in one \
                        part, or one attribute twice)"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

fn belongs_to(der: &CertificateDer<'_>, key: &KeyPair) -> bool {
    X509Certificate::from_der(der).is_ok_and(|(_, certificate)| {
        certificate.public_key().subject_public_key.data.as_ref() == key.der_bytes()
    })
}

fn refuse_other_than_ca(certificate: &X509Certificate<'_>) -> Result<(), &'static str> {
    if !certificate.is_ca() {
        return Err("it is not a CA certificate (basicConstraints)");
    }
    if let Ok(Some(usage)) = certificate.key_usage()
        && !(usage.value.key_cert_sign() && usage.value.crl_sign())
    {
        return Err("its key usage does not permit to sign certificates and lists");
    }
    Ok(())
}

fn subject_key_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate
        .iter_extensions()
        .find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        })
}
