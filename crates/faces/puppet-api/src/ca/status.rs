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

use super::body::WholeBody;
use super::failure::CaFailure;
use super::service::{Attended, CaService, certname};
use super::trail::{self, Deed, Route};
use crate::defaults::MAX_CERT_TTL_SECONDS;
use crate::peer::Caller;

const FETCH: Route = "GET /puppet-ca/v1/certificate_status/{name}";
const LIST: Route = "GET /puppet-ca/v1/certificate_statuses/{any}";
const CHANGE: Route = "PUT /puppet-ca/v1/certificate_status/{name}";
const CLEAN: Route = "DELETE /puppet-ca/v1/certificate_status/{name}";

/// The body of `PUT certificate_status/{name}`.
#[derive(Debug, Deserialize)]
struct Change {
    desired_state: String,
    /// Lifetime of the certificate in seconds.
    cert_ttl: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    state: Option<String>,
}

pub(super) async fn fetch(
    Attended(service): Attended,
    Path(name): Path<String>,
    caller: Caller,
) -> Result<Json<CertificateStatus>, CaFailure> {
    service.authorize(&caller, Deed::Read, FETCH).await?;
    Ok(Json(certificate_status(entry(&service, &name).await?)))
}

pub(super) async fn list(
    Attended(service): Attended,
    filter: Result<Query<Filter>, QueryRejection>,
    caller: Caller,
) -> Result<Json<Vec<CertificateStatus>>, CaFailure> {
    service.authorize(&caller, Deed::Read, LIST).await?;
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
    Attended(service): Attended,
    Path(name): Path<String>,
    caller: Caller,
    WholeBody(body): WholeBody,
) -> Result<StatusCode, CaFailure> {
    // The body decides between signing and revoking; it is not read for callers without permission.
    service.authorize(&caller, Deed::Change, CHANGE).await?;
    let change: Change = decode_errors::json::object_from_slice(&body)
        .map_err(|error| CaFailure::bad_request(format!("the body cannot be used: {error}")))?;
    let act = |deed: Deed| deed.act(trail::actor(&caller), CHANGE, Some(&name));
    let certname = certname(&name)?;
    entry(&service, &name).await?;
    match change.desired_state.as_str() {
        "signed" => {
            let options = sign_options(change.cert_ttl)?;
            let sign = move |ca: &CertificateAuthority| ca.sign(certname.as_str(), &options);
            service.command(act(Deed::Sign), sign).await?;
        }
        "revoked" => {
            let revoke = move |ca: &CertificateAuthority| ca.revoke(certname.as_str());
            service.command(act(Deed::Revoke), revoke).await?;
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
    Attended(service): Attended,
    Path(name): Path<String>,
    caller: Caller,
) -> Result<StatusCode, CaFailure> {
    service.authorize(&caller, Deed::Clean, CLEAN).await?;
    let certname = certname(&name)?;
    let act = Deed::Clean.act(trail::actor(&caller), CLEAN, Some(&name));
    let clean = move |ca: &CertificateAuthority| ca.clean(certname.as_str());
    match service.command(act, clean).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown(&name)),
    }
}

async fn entry(service: &CaService, name: &str) -> Result<CertificateEntry, CaFailure> {
    let certname = certname(name)?;
    let found = service.read(move |ca| ca.entry(certname.as_str())).await?;
    found.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> CaFailure {
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
