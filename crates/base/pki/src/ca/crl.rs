//! The authority's revocation list within `ca_crl.pem`, which may also contain those of the CAs
//! above it. The list is replaced as a whole, atomically, with its number incremented. Callers hold
//! the authority's lock.

use std::collections::{BTreeSet, HashSet};

use rcgen::{CertificateRevocationListParams, RevocationReason, RevokedCertParams, SerialNumber};
use rustls_pki_types::CertificateRevocationListDer;
use x509_parser::num_bigint::BigUint;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::x509::ReasonCode;

use super::error::CaError;
use super::issuer::CaIssuer;
use super::layout::{CaLayout, PUBLIC_MODE};
use super::leaf::{asn1_time, whole_seconds};
use super::ledger::SerialBytes;
use crate::defaults::{CLOCK_SKEW, CRL_LIFETIME};
use crate::{durable, pem_file};

/// The lists of the file: the authority's own, and the others in their order.
pub(super) struct CrlBundle {
    own: CertificateRevocationListDer<'static>,
    others: Vec<CertificateRevocationListDer<'static>>,
}

/// Reads the file, which must contain the authority's own list.
pub(super) fn read_own(layout: &CaLayout, issuer: &CaIssuer) -> Result<CrlBundle, CaError> {
    let path = layout.ca_crl();
    let (mut own, others): (Vec<_>, Vec<_>) = pem_file::crls(&path)?.into_iter().partition(|der| {
        CertificateRevocationList::from_der(der)
            .is_ok_and(|(_, list)| list.issuer().as_raw() == issuer.subject())
    });
    match own.len() {
        1 => Ok(CrlBundle {
            own: own.remove(0),
            others,
        }),
        count => Err(CaError::Damaged {
            path,
            what: format!("it holds {count} revocation lists of this CA instead of one"),
        }),
    }
}

/// The serial numbers that are currently revoked.
pub(super) fn revoked_serials(
    layout: &CaLayout,
    issuer: &CaIssuer,
) -> Result<HashSet<SerialBytes>, CaError> {
    let lists = read_own(layout, issuer)?;
    let list = parse(layout, &lists.own)?;
    Ok(list
        .iter_revoked_certificates()
        .map(|entry| entry.serial().to_bytes_be())
        .collect())
}

/// Adds serial numbers to the list; returns how many were not on it yet. The list is also renewed
/// if all of them were, so `revoke` can extend its validity.
pub(super) fn revoke(
    layout: &CaLayout,
    issuer: &CaIssuer,
    serials: BTreeSet<SerialBytes>,
) -> Result<usize, CaError> {
    let lists = read_own(layout, issuer)?;
    let list = parse(layout, &lists.own)?;
    let mut entries = kept_entries(&list)?;
    let known: HashSet<SerialBytes> = list
        .iter_revoked_certificates()
        .map(|entry| entry.serial().to_bytes_be())
        .collect();
    let now = asn1_time(jiff::Timestamp::now().as_second())?.to_datetime();
    let before = entries.len();
    let new = serials.into_iter().filter(|serial| !known.contains(serial));
    entries.extend(new.map(|serial| RevokedCertParams {
        serial_number: SerialNumber::from(serial),
        revocation_time: now,
        // The reason that puppetserver writes.
        reason_code: Some(RevocationReason::KeyCompromise),
        invalidity_date: None,
    }));
    let added = entries.len() - before;
    let number = list.crl_number().cloned().unwrap_or_default() + 1u32;
    let own = sign(issuer, &number, entries)?;
    write(layout, &own, &lists.others)?;
    Ok(added)
}

/// Writes the first, empty list of a new authority.
pub(super) fn write_first(layout: &CaLayout, issuer: &CaIssuer) -> Result<(), CaError> {
    let own = sign(issuer, &BigUint::from(0u32), Vec::new())?;
    write(layout, &own, &[])
}

fn parse<'a>(
    layout: &CaLayout,
    der: &'a CertificateRevocationListDer<'_>,
) -> Result<CertificateRevocationList<'a>, CaError> {
    CertificateRevocationList::from_der(der)
        .map(|(_, list)| list)
        .map_err(|error| CaError::Damaged {
            path: layout.ca_crl(),
            what: error.to_string(),
        })
}

fn kept_entries(list: &CertificateRevocationList<'_>) -> Result<Vec<RevokedCertParams>, CaError> {
    list.iter_revoked_certificates()
        .map(|entry| {
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from(entry.serial().to_bytes_be()),
                revocation_time: asn1_time(entry.revocation_date.timestamp())?.to_datetime(),
                reason_code: entry.reason_code().and_then(|(_, code)| reason(code)),
                invalidity_date: entry.invalidity_date().map(|(_, time)| time.to_datetime()),
            })
        })
        .collect()
}

fn reason(code: ReasonCode) -> Option<RevocationReason> {
    Some(match code {
        ReasonCode::KeyCompromise => RevocationReason::KeyCompromise,
        ReasonCode::CACompromise => RevocationReason::CaCompromise,
        ReasonCode::AffiliationChanged => RevocationReason::AffiliationChanged,
        ReasonCode::Superseded => RevocationReason::Superseded,
        ReasonCode::CessationOfOperation => RevocationReason::CessationOfOperation,
        ReasonCode::CertificateHold => RevocationReason::CertificateHold,
        ReasonCode::PrivilegeWithdrawn => RevocationReason::PrivilegeWithdrawn,
        ReasonCode::AACompromise => RevocationReason::AaCompromise,
        // RFC 5280 requires that the code is omitted instead of "unspecified".
        _ => return None,
    })
}

fn sign(
    issuer: &CaIssuer,
    number: &BigUint,
    revoked_certs: Vec<RevokedCertParams>,
) -> Result<CertificateRevocationListDer<'static>, CaError> {
    let now_s = jiff::Timestamp::now().as_second();
    let params = CertificateRevocationListParams {
        this_update: asn1_time(now_s - whole_seconds(CLOCK_SKEW))?.to_datetime(),
        next_update: asn1_time(now_s + whole_seconds(CRL_LIFETIME))?.to_datetime(),
        crl_number: SerialNumber::from(number.to_bytes_be()),
        issuing_distribution_point: None,
        revoked_certs,
        key_identifier_method: issuer.key_id(),
    };
    Ok(params
        .signed_by(issuer.signer())
        .map_err(CaError::Sign)?
        .into())
}

fn write(
    layout: &CaLayout,
    own: &CertificateRevocationListDer<'_>,
    others: &[CertificateRevocationListDer<'static>],
) -> Result<(), CaError> {
    let blocks: Vec<pem::Pem> = std::iter::once(own.as_ref())
        .chain(others.iter().map(AsRef::as_ref))
        .map(|der: &[u8]| pem::Pem::new("X509 CRL", der))
        .collect();
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    let text = pem::encode_many_config(&blocks, config);
    Ok(durable::write_atomic(
        &layout.ca_crl(),
        text.as_bytes(),
        PUBLIC_MODE,
    )?)
}
