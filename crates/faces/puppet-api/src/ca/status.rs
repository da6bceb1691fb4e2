//! `certificate_status/{name}` and `certificate_statuses/{any}`: listing, signing, revoking and
//! cleaning by administrators.

use std::time::Duration;

use api_types::CertificateStatus;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use pki::CertificateAuthority;
use pki::ca::{CertificateEntry, CertificateState as CertState, SignOptions};
use serde::Deserialize;

use super::audit_trail::{self, AuditRoute, CaOperation};
use super::body::WholeBody;
use super::failure::CaFailure;
use super::service::{CaService, CallerCaService, certname};
use crate::defaults::MAX_CERT_TTL_SECONDS;
use crate::peer::PuppetApiCaller;

const FETCH: AuditRoute = "GET /puppet-ca/v1/certificate_status/{name}";
const LIST: AuditRoute = "GET /puppet-ca/v1/certificate_statuses/{any}";
const CHANGE: AuditRoute = "PUT /puppet-ca/v1/certificate_status/{name}";
const CLEAN: AuditRoute = "DELETE /puppet-ca/v1/certificate_status/{name}";

/// The body of `PUT certificate_status/{name}`.
#[derive(Debug, Deserialize)]
struct DesiredStateChange {
    desired_state: String,
    /// Lifetime of the certificate in seconds.
    cert_ttl: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CertificateFilter {
    state: Option<String>,
}

pub(super) async fn fetch(
    CallerCaService(service): CallerCaService,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
) -> Result<Json<CertificateStatus>, CaFailure> {
    service
        .authorize(&caller, CaOperation::ReadStatus, FETCH)
        .await?;
    Ok(Json(certificate_status(find_entry(&service, &name).await?)))
}

pub(super) async fn list(
    CallerCaService(service): CallerCaService,
    filter: Result<Query<CertificateFilter>, QueryRejection>,
    caller: PuppetApiCaller,
) -> Result<Json<Vec<CertificateStatus>>, CaFailure> {
    service
        .authorize(&caller, CaOperation::ReadStatus, LIST)
        .await?;
    let Query(filter) = filter.map_err(|_| {
        CaFailure::bad_request("the query string cannot be read; it may have state, once")
    })?;
    let entries = service.run(|ca| ca.list()).await?;
    let wanted =
        |status: &CertificateStatus| filter.state.as_deref().is_none_or(|s| s == status.state);
    Ok(Json(
        entries
            .into_iter()
            .map(certificate_status)
            .filter(wanted)
            .collect(),
    ))
}

pub(super) async fn change(
    CallerCaService(service): CallerCaService,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
    WholeBody(body): WholeBody,
) -> Result<StatusCode, CaFailure> {
    // The body decides between signing and revoking; it is not read for callers without permission.
    service
        .authorize(&caller, CaOperation::Change, CHANGE)
        .await?;
    let change: DesiredStateChange = decode_errors::json::object_from_slice(&body)
        .map_err(|error| CaFailure::bad_request(format!("the body cannot be used: {error}")))?;
    let act = |deed: CaOperation| {
        deed.audited_action(audit_trail::actor_of(&caller), CHANGE, Some(&name))
    };
    let certname = certname(&name)?;
    find_entry(&service, &name).await?;
    match change.desired_state.as_str() {
        "signed" => {
            let options = sign_options(change.cert_ttl)?;
            let sign = move |ca: &CertificateAuthority| ca.sign(certname.as_str(), &options);
            service.command(act(CaOperation::Sign), sign).await?;
        }
        "revoked" => {
            let revoke = move |ca: &CertificateAuthority| ca.revoke(certname.as_str());
            service.command(act(CaOperation::Revoke), revoke).await?;
        }
        other => {
            return Err(CaFailure::bad_request(format!(
                "State {other} invalid; Must specify desired state of 'signed' or 'revoked' for \
                 host {name}."
            )));
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn clean(
    CallerCaService(service): CallerCaService,
    Path(name): Path<String>,
    caller: PuppetApiCaller,
) -> Result<StatusCode, CaFailure> {
    service
        .authorize(&caller, CaOperation::Clean, CLEAN)
        .await?;
    let certname = certname(&name)?;
    let act = CaOperation::Clean.audited_action(audit_trail::actor_of(&caller), CLEAN, Some(&name));
    let clean = move |ca: &CertificateAuthority| ca.clean(certname.as_str());
    match service.command(act, clean).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown_name_error(&name)),
    }
}

async fn find_entry(service: &CaService, name: &str) -> Result<CertificateEntry, CaFailure> {
    let certname = certname(name)?;
    let found = service.read(move |ca| ca.entry(certname.as_str())).await?;
    found.ok_or_else(|| unknown_name_error(name))
}

fn unknown_name_error(name: &str) -> CaFailure {
    CaFailure::not_found(format!(
        "there is neither a certificate nor a request for {name}"
    ))
}

fn sign_options(cert_ttl: Option<u64>) -> Result<SignOptions, CaFailure> {
    if cert_ttl.is_some_and(|ttl| ttl == 0 || ttl > MAX_CERT_TTL_SECONDS) {
        let message = format!("cert_ttl must be from 1 to {MAX_CERT_TTL_SECONDS} seconds");
        return Err(CaFailure::bad_request(message));
    }
    Ok(SignOptions {
        lifetime: cert_ttl.map(Duration::from_secs),
        ..SignOptions::default()
    })
}

/// A certificate or request in puppetserver's format.
pub fn certificate_status(entry: CertificateEntry) -> CertificateStatus {
    let dns = entry
        .alt_names
        .iter()
        .filter(|name| name.starts_with("DNS:"));
    let time = |time: jiff::Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SUTC").to_string();
    let facts = entry.certificate.as_ref();
    let state = match entry.state {
        CertState::Requested => "requested",
        CertState::Signed => "signed",
        CertState::Revoked => "revoked",
    };
    let fingerprints = [
        ("SHA1", entry.fingerprints.sha1),
        ("SHA256", entry.fingerprints.sha256.clone()),
        ("SHA512", entry.fingerprints.sha512),
        ("default", entry.fingerprints.sha256.clone()),
    ];
    CertificateStatus {
        dns_alt_names: dns.cloned().collect(),
        state: state.to_owned(),
        authorization_extensions: entry.authorization_extensions.into_iter().collect(),
        fingerprint: entry.fingerprints.sha256,
        serial_number: facts.map(|facts| serial_number(&facts.serial)),
        not_before: facts.map(|facts| time(facts.not_before)),
        not_after: facts.map(|facts| time(facts.not_after)),
        fingerprints: fingerprints
            .map(|(name, digest)| (name.to_owned(), digest))
            .into(),
        subject_alt_names: entry.alt_names,
        name: entry.certname,
    }
}

/// A serial number in puppetserver's format; text if it needs more than 64 bits.
fn serial_number(hexadecimal: &str) -> serde_json::Value {
    match u64::from_str_radix(hexadecimal, 16) {
        Ok(number) => number.into(),
        Err(_) => format!("0x{hexadecimal}").into(),
    }
}
