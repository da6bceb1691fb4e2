//! Renewal of certificates by their holders: [`CertificateAuthority::renew`].
//!
//! Invariant: a renewed certificate has the name, key, alternative names and extensions of the one before, so its
//! holder has no more rights; only the newest certificate of a name is renewed, and none that was cleaned.

use std::time::Duration;

use x509_parser::prelude::{FromDer, X509Certificate};

use super::layout::CertFile;
use super::leaf::{UnsignedCertificate, whole_seconds};
use super::{CaError, CertificateAuthority, listing, read};
use crate::defaults::RENEWAL_GAIN;

/// Result of a renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenewedCertificate {
    /// The certificate that the name has already (PEM): it ends hardly before a new one would.
    Current(String),
    /// A new certificate (PEM).
    Renewed(String),
}

impl CertificateAuthority {
    /// The certificate that [`Self::renew`] would return without making one; `None` if it would make one.
    ///
    /// # Errors
    /// As for [`Self::renew`].
    pub fn current_certificate(
        &self,
        certname: &str,
        leaf: &[u8],
        lifetime: Duration,
    ) -> Result<Option<String>, CaError> {
        let file = CertFile::parse(certname)?;
        let signed = self.signed_for_holder(&file, leaf)?;
        let is_current = ends_after(&signed, certname, lifetime)?;
        match is_current {
            true => read::read_optional(&self.layout.signed(&file)),
            false => Ok(None),
        }
    }

    /// Gives the holder of the certificate `leaf` (DER), which was verified, one of the same content that ends
    /// after `lifetime`. The connection has proved that the holder has the key.
    ///
    /// # Errors
    /// The name has no certificate, or one with another key.
    pub fn renew(
        &self,
        certname: &str,
        leaf: &[u8],
        lifetime: Duration,
    ) -> Result<RenewedCertificate, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        let signed = self.signed_for_holder(&file, leaf)?;
        if ends_after(&signed, certname, lifetime)? {
            let path = self.layout.signed(&file);
            return Ok(RenewedCertificate::Current(read::read_required(&path)?));
        }
        let parsed = parse(&signed, certname)?;
        let unsigned = UnsignedCertificate::from_certificate(certname, &parsed, lifetime)?;
        Ok(RenewedCertificate::Renewed(self.issue(&file, unsigned)?))
    }

    /// The newest certificate of the name, whose key must be that of `leaf`.
    fn signed_for_holder(&self, file: &CertFile, leaf: &[u8]) -> Result<Vec<u8>, CaError> {
        let certname = file.certname();
        let signed = listing::read_signed(&self.layout, file)?;
        let signed = signed.ok_or_else(|| CaError::NoCertificate {
            certname: certname.to_owned(),
        })?;
        let (of_signed, of_leaf) = (parse(&signed, certname)?, parse(leaf, certname)?);
        match of_signed.public_key().raw == of_leaf.public_key().raw {
            true => Ok(signed.to_vec()),
            false => Err(CaError::OtherKey {
                certname: certname.to_owned(),
            }),
        }
    }
}

/// True if the certificate ends at most [`RENEWAL_GAIN`] before a new one would.
fn ends_after(der: &[u8], certname: &str, lifetime: Duration) -> Result<bool, CaError> {
    let ends = parse(der, certname)?.validity().not_after.timestamp();
    let now = jiff::Timestamp::now().as_second();
    let gained = now + whole_seconds(lifetime) - ends;
    Ok(gained < whole_seconds(RENEWAL_GAIN))
}

fn parse<'d>(der: &'d [u8], certname: &str) -> Result<X509Certificate<'d>, CaError> {
    match X509Certificate::from_der(der) {
        Ok((_, parsed)) => Ok(parsed),
        Err(_) => Err(CaError::NoCertificate {
            certname: certname.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ca::{GenerateOptions, InitOptions};
    use crate::key::KeyType;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn der(pem_text: &str) -> Vec<u8> {
        pem::parse(pem_text).unwrap().into_contents()
    }

    #[test]
    fn a_renewed_certificate_has_the_content_of_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "CA".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        let options = GenerateOptions {
            alt_names: vec![
                "DNS:other.test".parse().unwrap(),
                "IP:10.0.0.1".parse().unwrap(),
            ],
            ca_administrator: true,
            lifetime: Some(DAY * 10),
            ..GenerateOptions::default()
        };
        let old = der(&ca.generate("web1.test", &options).unwrap().cert_pem);
        assert_eq!(
            ca.current_certificate("web1.test", &old, DAY * 90).unwrap(),
            None
        );
        let RenewedCertificate::Renewed(new) = ca.renew("web1.test", &old, DAY * 90).unwrap()
        else {
            panic!("not renewed");
        };
        assert_eq!(ca.certificate("web1.test").unwrap(), Some(new.clone()));
        let new_der = der(&new);
        let (before, after) = (parse(&old, "").unwrap(), parse(&new_der, "").unwrap());
        assert_eq!(before.subject(), after.subject());
        assert_eq!(before.public_key().raw, after.public_key().raw);
        assert_ne!(before.serial, after.serial);
        let extensions = |certificate: &X509Certificate<'_>| {
            let mut extensions: Vec<_> = certificate
                .extensions()
                .iter()
                .map(|it| (it.oid.to_id_string(), it.value.to_vec()))
                .collect();
            extensions.sort();
            extensions
        };
        assert_eq!(extensions(&before), extensions(&after));
        let gained =
            after.validity().not_after.timestamp() - before.validity().not_after.timestamp();
        assert!((79..=81).contains(&(gained / (24 * 60 * 60))), "{gained}");

        // a response that was lost is given again, to the holder of the first certificate too
        let again = ca.renew("web1.test", &old, DAY * 90).unwrap();
        assert_eq!(again, RenewedCertificate::Current(new.clone()));
        let current = ca.current_certificate("web1.test", &new_der, DAY * 90);
        assert_eq!(current.unwrap(), Some(new));

        // both are revoked, and neither is renewed
        ca.revoke("web1.test").unwrap();
        ca.clean("web1.test").unwrap();
        let refused = ca.renew("web1.test", &old, DAY * 90);
        assert!(matches!(refused, Err(CaError::NoCertificate { .. })));
        ca.generate("web1.test", &options).unwrap();
        let refused = ca.renew("web1.test", &old, DAY * 90);
        assert!(matches!(refused, Err(CaError::OtherKey { .. })));
    }
}
