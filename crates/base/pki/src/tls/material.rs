//! Loading of the CA bundle and the revocation lists for a verifier: [`TrustedCas`]. A file with an
//! error in any part is refused as a whole, so that a partly written one never replaces a valid
//! one.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer};
use x509_parser::error::X509Error;
use x509_parser::num_bigint::BigUint;
use x509_parser::oid_registry::OID_X509_EXT_ISSUER_DISTRIBUTION_POINT;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::time::ASN1Time;

use super::files::{LoadError, TlsFiles, certificate_error, crl_error};
use super::revocations::RevokedCertificates;
use crate::pem_file;

/// The trusted CAs and their revocation lists. Two CAs may have the same name and different keys.
pub(super) struct TrustedCas {
    pub(super) roots: RootCertStore,
    /// The trusted CAs without those of which only a namesake has a list. There may be none.
    pub(super) listed_roots: RootCertStore,
    /// Revocation lists of the trusted CAs, at most one for each: the newest. The newest of all comes first.
    pub(super) crls: Vec<CertificateRevocationListDer<'static>>,
    pub(super) revocations: Arc<RevokedCertificates>,
    /// True if every CA of the bundle has a list.
    pub(super) every_ca_has_a_list: bool,
    /// True if the serial numbers alone do not tell whether a certificate is revoked, so that webpki must read the
    /// lists in each handshake: the signature of a list could not be verified here, or a list is only about some
    /// certificates of its CA.
    pub(super) needs_lists_in_handshakes: bool,
}

/// A CA of the bundle.
struct BundleCa<'b> {
    /// Position in the bundle, from 0.
    index: usize,
    der: &'b CertificateDer<'static>,
    parsed: &'b X509Certificate<'b>,
}

impl TrustedCas {
    pub(super) fn read(ca: &Path, crl: Option<&Path>) -> Result<Self, LoadError> {
        let ca_ders = pem_file::certificates(ca)?;
        let cas = parse_all(ca, &ca_ders)?;
        let crl_ders = crl.map(pem_file::crls).transpose()?.unwrap_or_default();
        let lists = match crl {
            Some(path) => newest_lists(path, &crl_ders, &cas)?,
            None => Vec::new(),
        };
        let mut revocations = RevokedCertificates::default();
        for list in &lists {
            revocations.add(&list.parsed, &list.signer);
        }
        let trusted = trusted_cas(ca, &ca_ders, &cas, &revocations);
        let has_list = |ca: &X509Certificate<'_>| lists.iter().any(|list| list.is_of(ca));
        let only_namesake_has_list = |ca: &X509Certificate<'_>| {
            !has_list(ca) && revocations.has_list_of(ca.subject().as_raw())
        };
        let roots = root_store(ca, trusted.iter())?;
        if roots.is_empty() {
            return Err(LoadError::NoTrustedCa {
                path: ca.to_owned(),
            });
        }
        let listed = trusted.iter();
        let listed = listed.filter(|ca| !only_namesake_has_list(ca.parsed));
        let listed_roots = root_store(ca, listed)?;
        let mut every_ca_has_a_list = true;
        for without in cas.iter().filter(|ca| !has_list(ca)) {
            every_ca_has_a_list = false;
            if let Some(path) = crl {
                tracing::debug!(ca = %without.subject(), crl = %path.display(),
                    "this CA has no revocation list; certificates that it issued are refused");
            }
        }
        let needs_webpki =
            |list: &ParsedCrl<'_>| matches!(list.signer, CrlSigner::Unknown) || list.is_partial();
        let is_of_trusted = |list: &&ParsedCrl<'_>| trusted.iter().any(|ca| list.is_of(ca.parsed));
        let crls = lists.iter().filter(is_of_trusted);
        Ok(Self {
            roots,
            listed_roots,
            crls: crls.map(|list| list.der.clone()).collect(),
            needs_lists_in_handshakes: lists.iter().any(needs_webpki),
            revocations: Arc::new(revocations),
            every_ca_has_a_list,
        })
    }
}

impl RevokedCertificates {
    /// The certificates that the lists of the file `crl` revoke. Each list must be signed by its
    /// CA; lists of CAs that are not in the bundle `ca` are ignored.
    pub fn read(ca: &Path, crl: &Path) -> Result<Self, LoadError> {
        let revocations = TrustedCas::read(ca, Some(crl))?.revocations;
        Ok(Arc::unwrap_or_clone(revocations))
    }
}

/// The chain that a server or client presents: the certificates of its file, completed with
/// intermediates of the CA bundle, so that peers that know only the root can verify it.
pub(super) fn own_chain(files: &TlsFiles) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let mut chain = pem_file::certificates(&files.cert)?;
    parse_all(&files.cert, &chain)?;
    let bundle = pem_file::certificates(&files.ca)?;
    let cas = parse_all(&files.ca, &bundle)?;
    // Each round adds another certificate of the bundle, so the loop ends.
    for _ in 0..bundle.len() {
        let Some(last) = chain
            .last()
            .and_then(|der| X509Certificate::from_der(der).ok())
        else {
            break;
        };
        let issuer = last.1.issuer().as_raw().to_vec();
        let next = cas.iter().zip(&bundle).find(|(ca, _)| {
            ca.subject().as_raw() == issuer && ca.issuer().as_raw() != ca.subject().as_raw()
        });
        match next {
            Some((_, der)) if !chain.contains(der) => chain.push(der.clone()),
            _ => break,
        }
    }
    Ok(chain)
}

fn parse_all<'a>(
    path: &Path,
    ders: &'a [CertificateDer<'static>],
) -> Result<Vec<X509Certificate<'a>>, LoadError> {
    let parse = |(index, der): (usize, &'a CertificateDer<'static>)| {
        X509Certificate::from_der(der)
            .map(|(_, certificate)| certificate)
            .map_err(|error| certificate_error(path, index, error))
    };
    ders.iter().enumerate().map(parse).collect()
}

struct ParsedCrl<'a> {
    der: CertificateRevocationListDer<'static>,
    parsed: CertificateRevocationList<'a>,
    signer: CrlSigner,
}

/// The CA that signed a revocation list, among those of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CrlSigner {
    /// The CA with this public key (DER).
    Key(Box<[u8]>),
    /// The algorithm of the signature is unknown to the library that reads it; webpki may know it.
    Unknown,
}

impl ParsedCrl<'_> {
    /// True if the list is of this CA, and not of another one of the same name.
    fn is_of(&self, ca: &X509Certificate<'_>) -> bool {
        let is_of_key = match &self.signer {
            CrlSigner::Key(key) => **key == *ca.public_key().raw,
            CrlSigner::Unknown => true,
        };
        is_of_key && self.parsed.issuer().as_raw() == ca.subject().as_raw()
    }

    /// True if the list is only about some certificates of its CA.
    fn is_partial(&self) -> bool {
        let mut extensions = self.parsed.extensions().iter();
        extensions.any(|it| it.oid == OID_X509_EXT_ISSUER_DISTRIBUTION_POINT)
    }
}

/// The newest list of each CA of the bundle. A list of an unknown CA is ignored; one without a
/// valid signature of its CA is an error.
fn newest_lists<'a>(
    path: &Path,
    ders: &'a [CertificateRevocationListDer<'static>],
    cas: &[X509Certificate<'_>],
) -> Result<Vec<ParsedCrl<'a>>, LoadError> {
    let mut newest: Vec<ParsedCrl<'a>> = Vec::new();
    for (index, der) in ders.iter().enumerate() {
        let (_, parsed) = CertificateRevocationList::from_der(der)
            .map_err(|error| crl_error(path, index, error))?;
        let Some(signer) = find_signer(path, index, &parsed, cas)? else {
            continue;
        };
        warn_if_expired(path, &parsed);
        let list = ParsedCrl {
            der: der.clone(),
            parsed,
            signer,
        };
        let is_of_same_ca = |known: &&mut ParsedCrl<'_>| {
            known.parsed.issuer().as_raw() == list.parsed.issuer().as_raw()
                && known.signer == list.signer
        };
        let same_ca = newest.iter_mut().find(is_of_same_ca);
        match same_ca {
            Some(older) if recency_key(&older.parsed) < recency_key(&list.parsed) => *older = list,
            Some(_) => {}
            None => newest.push(list),
        }
    }
    // webpki takes the first one of a name
    newest.sort_by_key(|list| Reverse(recency_key(&list.parsed)));
    Ok(newest)
}

/// The key by which the lists of one CA are ordered.
fn recency_key(list: &CertificateRevocationList<'_>) -> (ASN1Time, Option<BigUint>) {
    (list.last_update(), list.crl_number().cloned())
}

/// The CA of the bundle that signed this list; `None` if its CA is not in the bundle.
fn find_signer(
    path: &Path,
    index: usize,
    list: &CertificateRevocationList<'_>,
    cas: &[X509Certificate<'_>],
) -> Result<Option<CrlSigner>, LoadError> {
    let mut known = false;
    // A CA that was renewed with a new key occurs twice under one name.
    for ca in cas
        .iter()
        .filter(|ca| ca.subject().as_raw() == list.issuer().as_raw())
    {
        known = true;
        match list.verify_signature(ca.public_key()) {
            Ok(()) => return Ok(Some(CrlSigner::Key(ca.public_key().raw.into()))),
            Err(X509Error::SignatureUnsupportedAlgorithm) => return Ok(Some(CrlSigner::Unknown)),
            Err(_) => {}
        }
    }
    if known {
        let what = format!("its signature is not that of the CA {}", list.issuer());
        return Err(crl_error(path, index, what));
    }
    tracing::warn!(crl = %path.display(), issuer = %list.issuer(),
        "a revocation list of a CA that is not in the CA bundle is not used");
    Ok(None)
}

fn warn_if_expired(path: &Path, list: &CertificateRevocationList<'_>) {
    if list
        .next_update()
        .is_some_and(|next| next < ASN1Time::now())
    {
        tracing::warn!(crl = %path.display(), issuer = %list.issuer(),
            "the revocation list has expired and should be renewed; it is still used");
    }
}

/// The CAs of the bundle that are not revoked.
fn trusted_cas<'b>(
    path: &Path,
    ders: &'b [CertificateDer<'static>],
    cas: &'b [X509Certificate<'b>],
    revocations: &RevokedCertificates,
) -> Vec<BundleCa<'b>> {
    let mut trusted = Vec::new();
    for (index, (der, parsed)) in ders.iter().zip(cas).enumerate() {
        if revocations.revokes(parsed) {
            tracing::warn!(ca = %parsed.subject(), path = %path.display(),
                "this CA certificate is revoked and no longer trusted");
            continue;
        }
        trusted.push(BundleCa { index, der, parsed });
    }
    trusted
}

/// Builds the trust anchors. Every trusted CA of the bundle is an anchor, including intermediates, because peers
/// often send only their leaf.
fn root_store<'b>(
    path: &Path,
    cas: impl Iterator<Item = &'b BundleCa<'b>>,
) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    for ca in cas {
        let added = roots.add(ca.der.clone());
        added.map_err(|error| certificate_error(path, ca.index, error))?;
    }
    Ok(roots)
}
