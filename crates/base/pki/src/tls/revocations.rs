//! What the revocation lists revoke: [`Revocations`], a snapshot to ask whether
//! a certificate that was accepted earlier has been revoked since.

use std::collections::{HashMap, HashSet};

use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

/// Issuer and serial number of everything that is revoked. Immutable; a reload
/// makes a new one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Revocations {
    // Issuer (DER of the name) -> serial numbers (big endian, as in the lists).
    by_issuer: HashMap<Vec<u8>, HashSet<Box<[u8]>>>,
}

impl Revocations {
    /// Whether there is a list of every CA that `other` has one of. If not,
    /// certificates that were good with `other` would be refused.
    pub fn covers(&self, other: &Self) -> bool {
        other
            .by_issuer
            .keys()
            .all(|issuer| self.by_issuer.contains_key(issuer))
    }

    /// Whether no CA has a list.
    pub fn has_no_list(&self) -> bool {
        self.by_issuer.is_empty()
    }

    /// Whether a certificate (DER) is revoked. What cannot be read counts as
    /// revoked: it cannot be what was accepted.
    pub fn is_revoked(&self, leaf: &[u8]) -> bool {
        match X509Certificate::from_der(leaf) {
            Ok((_, certificate)) => self.revokes(&certificate),
            Err(_) => true,
        }
    }

    /// How many certificates are revoked.
    pub fn len(&self) -> usize {
        self.by_issuer.values().map(HashSet::len).sum()
    }

    /// Whether nothing is revoked.
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
