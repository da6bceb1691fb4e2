//! Reading of requests and certificates from the directory: [`CertificateEntry`].

use std::collections::HashSet;
use std::path::Path;

use rcgen::{PublicKeyData, SubjectPublicKeyInfo};
use rustls_pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::crl;
use super::error::CaError;
use super::issuer::CaIssuer;
use super::layout::{CaLayout, CertFile};
use super::ledger::SerialBytes;
use super::read::read_optional;
use crate::csr::CertificateRequest;
use crate::{identity, pem_file};

const AUTHORIZATION_ARC: &str = "1.3.6.1.4.1.34380.1.3.";

/// The state of a certname at the authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CertificateState {
    /// A request is waiting for a signature.
    Requested,
    /// The certname has a valid certificate, which may have expired: see its dates.
    Signed,
    /// The certname's certificate is revoked.
    Revoked,
}

/// Digests of the DER, in Puppet's notation: upper-case hexadecimal with colons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerFingerprints {
    pub sha1: String,
    pub sha256: String,
    pub sha512: String,
}

/// A request or certificate of the authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateEntry {
    /// Certname of the request or certificate.
    pub certname: String,
    /// State of the certname: requested, signed or revoked.
    pub state: CertificateState,
    /// Digests of the request or certificate in DER.
    pub fingerprints: DerFingerprints,
    /// Subject alternative names as `DNS:…` and `IP:…`, in their order.
    pub alt_names: Vec<String>,
    /// Object id and text of the extensions that grant rights.
    pub authorization_extensions: Vec<(String, String)>,
    /// Details of the certificate; `None` for a request.
    pub certificate: Option<CertificateDetails>,
}

/// The properties that a certificate has and a request has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateDetails {
    /// Serial number, hexadecimal, without prefix.
    pub serial: String,
    /// Start of the validity period, inclusive.
    pub not_before: jiff::Timestamp,
    /// End of the validity period, inclusive.
    pub not_after: jiff::Timestamp,
}

impl DerFingerprints {
    /// Computes the digests of a certificate or request in DER.
    pub fn of(der: &[u8]) -> Self {
        use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512, digest};
        let text = |algorithm| {
            let digest = digest(algorithm, der);
            let bytes: Vec<String> = digest
                .as_ref()
                .iter()
                .map(|byte| format!("{byte:02X}"))
                .collect();
            bytes.join(":")
        };
        Self {
            sha1: text(&SHA1_FOR_LEGACY_USE_ONLY),
            sha256: text(&SHA256),
            sha512: text(&SHA512),
        }
    }
}

/// All entries by name; a name with both a certificate and a request (which only another tool can
/// cause) is listed with its certificate.
pub(super) fn list_entries(
    layout: &CaLayout,
    issuer: &CaIssuer,
) -> Result<Vec<CertificateEntry>, CaError> {
    let revoked = crl::revoked_serials(layout, issuer)?;
    let mut entries = Vec::new();
    let mut certified = HashSet::new();
    for file in files_in(&layout.signed_dir())? {
        if let Some(der) = read_signed(layout, &file)? {
            entries.push(certificate_entry(layout, issuer, &file, &der, &revoked)?);
            certified.insert(file.certname().to_owned());
        }
    }
    for file in files_in(&layout.requests_dir())? {
        if certified.contains(file.certname()) {
            continue;
        }
        match read_request(layout, &file) {
            Ok(Some(request)) => entries.push(request_entry(&request)),
            Ok(None) => {}
            // One damaged request must not hide all the others.
            Err(error) => tracing::warn!(
                certname = file.certname(),
                error = &error as &dyn std::error::Error,
                "a waiting request cannot be read"
            ),
        }
    }
    entries.sort_by(|a, b| a.certname.cmp(&b.certname));
    Ok(entries)
}

pub(super) fn find_entry(
    layout: &CaLayout,
    issuer: &CaIssuer,
    file: &CertFile,
) -> Result<Option<CertificateEntry>, CaError> {
    if let Some(der) = read_signed(layout, file)? {
        let revoked = crl::revoked_serials(layout, issuer)?;
        return certificate_entry(layout, issuer, file, &der, &revoked).map(Some);
    }
    Ok(read_request(layout, file)?.as_ref().map(request_entry))
}

fn certificate_entry(
    layout: &CaLayout,
    issuer: &CaIssuer,
    file: &CertFile,
    der: &CertificateDer<'_>,
    revoked: &HashSet<SerialBytes>,
) -> Result<CertificateEntry, CaError> {
    let (_, parsed) = X509Certificate::from_der(der).map_err(|error| CaError::Damaged {
        path: layout.signed(file),
        what: error.to_string(),
    })?;
    let ours = parsed.issuer().as_raw() == issuer.subject();
    let is_revoked = ours && revoked.contains(&parsed.serial.to_bytes_be());
    let time = |seconds| jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    Ok(CertificateEntry {
        certname: file.certname().to_owned(),
        state: if is_revoked {
            CertificateState::Revoked
        } else {
            CertificateState::Signed
        },
        fingerprints: DerFingerprints::of(der),
        alt_names: alt_names(&parsed),
        authorization_extensions: authorization_extensions(&parsed),
        certificate: Some(CertificateDetails {
            serial: format!("{:04X}", parsed.serial),
            not_before: time(parsed.validity().not_before.timestamp()),
            not_after: time(parsed.validity().not_after.timestamp()),
        }),
    })
}

fn request_entry(request: &CertificateRequest) -> CertificateEntry {
    let authorization = request
        .extensions()
        .iter()
        .filter(|asked| asked.is_authorization());
    CertificateEntry {
        certname: request.certname().to_owned(),
        state: CertificateState::Requested,
        fingerprints: DerFingerprints::of(request.der()),
        alt_names: request.alt_names().to_vec(),
        authorization_extensions: authorization
            .map(|asked| (asked.oid.clone(), asked.text()))
            .collect(),
        certificate: None,
    }
}

fn alt_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => format!("DNS:{name}"),
        GeneralName::IPAddress([a, b, c, d]) => format!("IP:{a}.{b}.{c}.{d}"),
        GeneralName::IPAddress(octets) => match <[u8; 16]>::try_from(*octets) {
            Ok(v6) => format!("IP:{}", std::net::Ipv6Addr::from(v6)),
            Err(_) => "IP:invalid".to_owned(),
        },
        other => other.to_string(),
    };
    extension.value.general_names.iter().map(text).collect()
}

fn authorization_extensions(certificate: &X509Certificate<'_>) -> Vec<(String, String)> {
    certificate
        .iter_extensions()
        .filter(|extension| {
            matches!(
                extension.parsed_extension(),
                ParsedExtension::UnsupportedExtension { .. }
            )
        })
        .map(|extension| {
            (
                extension.oid.to_id_string(),
                identity::value_text(extension.value),
            )
        })
        .filter(|(oid, _)| oid.starts_with(AUTHORIZATION_ARC))
        .collect()
}

// === reading ===

pub(super) fn read_signed(
    layout: &CaLayout,
    file: &CertFile,
) -> Result<Option<CertificateDer<'static>>, CaError> {
    let path = layout.signed(file);
    if !path.exists() {
        return Ok(None);
    }
    Ok(pem_file::certificates(&path)?.into_iter().next())
}

pub(super) fn read_request(
    layout: &CaLayout,
    file: &CertFile,
) -> Result<Option<CertificateRequest>, CaError> {
    match read_optional(&layout.request(file))? {
        Some(pem) => Ok(Some(CertificateRequest::from_pem(pem.as_bytes())?)),
        None => Ok(None),
    }
}

pub(super) fn has_key(certificate: &CertificateDer<'_>, key: &SubjectPublicKeyInfo) -> bool {
    X509Certificate::from_der(certificate).is_ok_and(|(_, parsed)| {
        parsed.public_key().subject_public_key.data.as_ref() == key.der_bytes()
    })
}

pub(super) fn serial_of(certificate: &CertificateDer<'_>) -> Result<SerialBytes, CaError> {
    match X509Certificate::from_der(certificate) {
        Ok((_, parsed)) => Ok(parsed.serial.to_bytes_be()),
        Err(error) => Err(CaError::Damaged {
            path: "signed".into(),
            what: error.to_string(),
        }),
    }
}

pub(super) fn files_in(dir: &Path) -> Result<Vec<CertFile>, CaError> {
    let failed = |source| CaError::Read {
        path: dir.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        files.extend(CertFile::from_file_name(&name));
    }
    Ok(files)
}
