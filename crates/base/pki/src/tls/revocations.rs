//! The revoked certificates: [`RevokedCertificates`], a snapshot to check whether a certificate
//! that was accepted earlier has been revoked since.

use std::collections::{HashMap, HashSet};

use x509_parser::error::X509Error;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::material::CrlSigner;

/// Issuer and serial number of every revoked certificate. Immutable; a reload creates a new
/// snapshot.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RevokedCertificates {
    // Issuer (DER of the name) -> lists of the CAs of this name, one for each key.
    by_issuer: HashMap<Vec<u8>, Vec<RevokedSerials>>,
}

/// The certificates that one CA revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RevokedSerials {
    signer: CrlSigner,
    /// Big endian, as in the list.
    serials: HashSet<Box<[u8]>>,
}

impl RevokedSerials {
    /// True if the CA of the list may have signed the certificate.
    fn may_be_of_issuer(&self, certificate: &X509Certificate<'_>) -> bool {
        let CrlSigner::Key(key) = &self.signer else {
            return true;
        };
        let Ok((_, key)) = SubjectPublicKeyInfo::from_der(key) else {
            return true;
        };
        match certificate.verify_signature(Some(&key)) {
            Ok(()) | Err(X509Error::SignatureUnsupportedAlgorithm) => true,
            Err(_) => false,
        }
    }
}

impl RevokedCertificates {
    /// True if there is a list of every CA that `other` has a list of. If not, certificates that
    /// were valid with `other` would be refused.
    pub fn covers(&self, other: &Self) -> bool {
        let has_list = |issuer: &[u8], signer: &CrlSigner| {
            let lists = self.by_issuer.get(issuer);
            lists.is_some_and(|lists| lists.iter().any(|list| list.signer == *signer))
        };
        other
            .by_issuer
            .iter()
            .all(|(issuer, lists)| lists.iter().all(|list| has_list(issuer, &list.signer)))
    }

    /// True if no CA has a list.
    pub fn has_no_list(&self) -> bool {
        self.by_issuer.is_empty()
    }

    /// True if there is a list of a CA with this name (DER).
    pub(super) fn has_list_of(&self, issuer: &[u8]) -> bool {
        self.by_issuer.contains_key(issuer)
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
        self.lists().map(|list| list.serials.len()).sum()
    }

    /// True if no certificate is revoked.
    pub fn is_empty(&self) -> bool {
        self.lists().all(|list| list.serials.is_empty())
    }

    /// The keys of the CAs count only if several have the name of the issuer.
    pub(super) fn revokes(&self, certificate: &X509Certificate<'_>) -> bool {
        let lists = self.by_issuer.get(certificate.issuer().as_raw());
        let lists = lists.map_or(&[][..], Vec::as_slice);
        let serial = certificate.raw_serial();
        lists.iter().any(|list| {
            list.serials.contains(serial)
                && (lists.len() == 1 || list.may_be_of_issuer(certificate))
        })
    }

    /// Adds the list of a CA that has none yet.
    pub(super) fn add(&mut self, crl: &CertificateRevocationList<'_>, signer: &CrlSigner) {
        let revoked = crl.iter_revoked_certificates();
        let list = RevokedSerials {
            signer: signer.clone(),
            serials: revoked.map(|entry| entry.raw_serial().into()).collect(),
        };
        let issuer = crl.issuer().as_raw().to_vec();
        self.by_issuer.entry(issuer).or_default().push(list);
    }

    fn lists(&self) -> impl Iterator<Item = &RevokedSerials> {
        self.by_issuer.values().flatten()
    }
}
