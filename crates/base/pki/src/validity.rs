//! Names and dates of certificates and revocation lists, for reports on them: [`CertificateDates`],
//! [`ListDates`].
//!
//! Invariant: nothing is verified here; the TLS settings decide which certificates are trusted.

use std::path::Path;

use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::time::ASN1Time;

use crate::pem_file::{self, PemFileError};

/// Subject and dates of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateDates {
    /// Common name, or the whole subject if it has none.
    pub name: String,
    /// True if the certificate may issue certificates.
    pub is_ca: bool,
    /// Start of the validity period, inclusive.
    pub not_before: jiff::Timestamp,
    /// End of the validity period, inclusive.
    pub not_after: jiff::Timestamp,
}

/// Issuer and dates of one revocation list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListDates {
    /// Subject of the CA that issued the list.
    pub issuer: String,
    /// Time at which the list was issued.
    pub this_update: jiff::Timestamp,
    /// Time at which a newer list is due; `None` if the list has no such field.
    pub next_update: Option<jiff::Timestamp>,
}

/// All certificates of a file, in their order.
///
/// # Errors
/// The file cannot be read, or contains something else.
pub fn certificate_dates(path: &Path) -> Result<Vec<CertificateDates>, PemFileError> {
    let ders = pem_file::certificates(path)?;
    let dates = ders.iter().map(|der| {
        let (_, parsed) =
            X509Certificate::from_der(der).map_err(|error| malformed(path, &error))?;
        let subject = parsed.subject();
        let common_name = subject.iter_common_name().next();
        let common_name = common_name.and_then(|name| name.as_str().ok());
        Ok(CertificateDates {
            name: common_name.map_or_else(|| subject.to_string(), str::to_owned),
            is_ca: parsed.is_ca(),
            not_before: time(parsed.validity().not_before),
            not_after: time(parsed.validity().not_after),
        })
    });
    dates.collect()
}

/// All revocation lists of a file, in their order.
///
/// # Errors
/// The file cannot be read, or contains something else.
pub fn list_dates(path: &Path) -> Result<Vec<ListDates>, PemFileError> {
    let ders = pem_file::crls(path)?;
    let dates = ders.iter().map(|der| {
        let (_, parsed) =
            CertificateRevocationList::from_der(der).map_err(|error| malformed(path, &error))?;
        Ok(ListDates {
            issuer: parsed.issuer().to_string(),
            this_update: time(parsed.last_update()),
            next_update: parsed.next_update().map(time),
        })
    });
    dates.collect()
}

fn time(time: ASN1Time) -> jiff::Timestamp {
    jiff::Timestamp::from_second(time.timestamp()).unwrap_or(jiff::Timestamp::MAX)
}

fn malformed(path: &Path, error: &impl std::fmt::Display) -> PemFileError {
    PemFileError::Malformed {
        path: path.to_owned(),
        what: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ca::InitOptions;
    use crate::{CertificateAuthority, KeyType};

    #[test]
    fn a_new_authority_and_its_list_have_their_dates() {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "Puppet CA: x".to_owned(),
            key_type: KeyType::EcP256,
        };
        CertificateAuthority::init(directory.path(), &options).unwrap();
        let now = jiff::Timestamp::now();
        let dates = certificate_dates(&directory.path().join("ca_crt.pem")).unwrap();
        assert_eq!((dates.len(), dates[0].name.as_str()), (1, "Puppet CA: x"));
        assert!(dates[0].is_ca && dates[0].not_before < now && now < dates[0].not_after);
        let lists = list_dates(&directory.path().join("ca_crl.pem")).unwrap();
        assert!(lists[0].issuer.contains("Puppet CA: x"), "{lists:?}");
        assert!(lists[0].this_update <= now && Some(now) < lists[0].next_update);
        let error = certificate_dates(&directory.path().join("serial")).unwrap_err();
        assert!(error.to_string().contains("serial"), "{error}");
    }
}
