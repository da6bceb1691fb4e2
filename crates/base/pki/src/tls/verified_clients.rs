//! Certificates of clients whose chains were verified before: [`VerifiedClients`].
//!
//! Invariant: whether a certificate is valid at this time, and whether it is revoked, is not remembered.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use aws_lc_rs::digest::{SHA256, digest};
use rustls_pki_types::CertificateDer;

use crate::defaults::VERIFIED_CLIENTS_MAX;

/// Certificates by the SHA-256 of their DER. They belong to the CAs of one verifier.
#[derive(Debug, Default)]
pub(super) struct VerifiedClients(RwLock<HashSet<ClientFingerprint>>);

/// Identifies a certificate with its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClientFingerprint([u8; 32]);

impl ClientFingerprint {
    pub(super) fn new(certificate: &CertificateDer<'_>) -> Self {
        let digest = digest(&SHA256, certificate);
        Self(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl VerifiedClients {
    pub(super) fn contains(&self, fingerprint: &ClientFingerprint) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.contains(fingerprint)
    }

    /// Remembers a certificate. If there are too many, all others are forgotten and verified again.
    pub(super) fn add(&self, fingerprint: ClientFingerprint) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= VERIFIED_CLIENTS_MAX {
            known.clear();
        }
        known.insert(fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use super::{CertificateDer, ClientFingerprint, VERIFIED_CLIENTS_MAX, VerifiedClients};

    #[test]
    fn the_number_of_certificates_is_bounded() {
        let known = VerifiedClients::default();
        let fingerprint = |number: usize| {
            ClientFingerprint::new(&CertificateDer::from(number.to_be_bytes().to_vec()))
        };
        for number in 0..VERIFIED_CLIENTS_MAX {
            known.add(fingerprint(number));
        }
        assert!(known.contains(&fingerprint(0)));
        assert!(known.contains(&fingerprint(VERIFIED_CLIENTS_MAX - 1)));
        known.add(fingerprint(VERIFIED_CLIENTS_MAX));
        assert!(!known.contains(&fingerprint(0)));
        assert!(known.contains(&fingerprint(VERIFIED_CLIENTS_MAX)));
    }
}
