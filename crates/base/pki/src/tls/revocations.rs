//! The revoked certificates: [`RevokedCertificates`], a snapshot to check whether a certificate
//! that was accepted earlier has been revoked since.

use std::collections::{HashMap, HashSet};

use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

/// Issuer and serial number of every revoked certificate. Immutable; a reload creates a new
/// snapshot.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RevokedCertificates {
    // Issuer (DER of the name) -> serial numbers (big endian, as in the lists).
    by_issuer: HashMap<Vec<u8>, HashSet<Box<[u8]>>>,
}

impl RevokedCertificates {
    /// True if there is a list of every CA that `other` has a list of. If not, certificates that
    /// were valid with `other` would be refused.
    pub fn covers(&self, other: &Self) -> bool {
        other
            .by_issuer
            .keys()
            .all(|issuer| self.by_issuer.contains_key(issuer))
    }

    /// True if no CA has a list.
    pub fn has_no_list(&self) -> bool {
        self.by_issuer.is_empty()
    }

    /// True if there is a list of the CA that issued a certificate.
    pub(super) fn has_list_of_issuer(&self, certificate: &X509Certificate<'_>) -> bool {
        self.by_issuer.contains_key(certificate.issuer().as_raw())
    }

    /// True if a certificate (DER) is revoked. One that cannot be parsed counts as revoked: it
    /// cannot be the one that was accepted.
    pub fn is_revoked(&self, leaf: &[u8]) -> bool {
        match X509Certificate::from_der(leaf) {
            Ok((_, certificate)) => self.revokes(&certificate),
            Err(_) => true,
        }
    }

    /// Number of revoked certificates.
    pub fn len(&self) -> usize {
        self.by_issuer.values().map(HashSet::len).sum()
    }

    /// True if no certificate is revoked.
    pub fn is_empty(&self) -> bool {
        self.by_issuer.values().all(HashSet::is_empty)
    }

    pub(super) fn revokes(&self, certificate: &X509Certificate<'_>) -> bool {
        self.by_issuer
            .get(certificate.issuer().as_raw())
            .is_some_and(|serials| serials.contains(certificate.raw_serial()))
    }

    pub(super) fn add(&mut self, crl: &CertificateRevocationList<'_>) {
        let serials = self
            .by_issuer
            .entry(crl.issuer().as_raw().to_vec())
            .or_default();
        serials.extend(
            crl.iter_revoked_certificates()
                .map(|entry| entry.raw_serial().into()),
        );
    }
}
