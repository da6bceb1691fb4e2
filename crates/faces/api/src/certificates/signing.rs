//! Signs certificate requests. Main function: [`sign`].
//!
//! Invariant: the options that allow more than a plain certname have an effect only if the request
//! needs them, and only for administrators.

use std::time::Duration;

use api_types::{ApiError, CertificateChange};
use pcp::Certname;
use pki::CaError;
use pki::ca::{CertificateAuthority, RequestSource, SignOptions, SubmittedRequest};
use puppet_api::{CaService, CaWorkError};

use super::refusal::ca_work_error;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::defaults::MAX_CERT_TTL_SECONDS;
use crate::failure::ApiFailure;

/// Permission of administrators only: a privileged name or an authorization extension gives its
/// rights to the owner of the certificate.
const SIGN_RIGHTS: &str = "sign_rights";

/// Signs the pending request of a certname, or the one in the body; returns the certificate.
pub(super) async fn sign(
    api: &SharedApiContext,
    service: &CaService,
    caller: &ApiCaller,
    certname: &Certname,
    change: CertificateChange,
) -> Result<String, ApiFailure> {
    let plain = SignOptions {
        lifetime: lifetime(change.cert_ttl)?,
        ..SignOptions::default()
    };
    let allowed = SignOptions {
        allow_alt_names: change.allow_alt_names,
        allow_authorization: change.allow_authorization_extensions,
        allow_privileged_names: change.allow_privileged_names,
        ..plain
    };
    let request = change.certificate_request;
    let signed = sign_with(service, certname, request.clone(), plain).await;
    let signed = match signed {
        Err(CaWorkError::Ca(refused)) if is_lifted_by(&refused, &allowed) => {
            caller.demand(api, "cert_requests", SIGN_RIGHTS, "*")?;
            sign_with(service, certname, request, allowed).await
        }
        other => other,
    };
    signed.map_err(|error| ca_work_error(&error))
}

async fn sign_with(
    service: &CaService,
    certname: &Certname,
    request: Option<String>,
    options: SignOptions,
) -> Result<String, CaWorkError> {
    let name = certname.clone();
    let source = service.source();
    service
        .run_blocking(move |ca| match request {
            None => ca.sign(name.as_str(), &options),
            Some(pem) => submit_and_sign(ca, name.as_str(), &pem, source, &options),
        })
        .await
}

/// Signs a submitted request. If that fails, the request is not stored, because it was never
/// pending.
fn submit_and_sign(
    ca: &CertificateAuthority,
    certname: &str,
    pem: &str,
    source: RequestSource,
    options: &SignOptions,
) -> Result<String, CaError> {
    let submitted = ca.submit_from(certname, pem.as_bytes(), source)?;
    let signed = ca.sign(certname, options);
    if signed.is_err() && submitted == SubmittedRequest::Stored {
        ca.delete_request(certname)?;
    }
    signed
}

/// True if these options lift this refusal.
fn is_lifted_by(refused: &CaError, allowed: &SignOptions) -> bool {
    match refused {
        CaError::AltNames { .. } => allowed.allow_alt_names,
        CaError::Authorization { .. } => allowed.allow_authorization,
        CaError::PrivilegedName { .. } => allowed.allow_privileged_names,
        _ => false,
    }
}

fn lifetime(cert_ttl: Option<u64>) -> Result<Option<Duration>, ApiError> {
    match cert_ttl {
        None => Ok(None),
        Some(seconds @ 1..=MAX_CERT_TTL_SECONDS) => Ok(Some(Duration::from_secs(seconds))),
        Some(_) => {
            let what = format!("must be from 1 to {MAX_CERT_TTL_SECONDS} seconds");
            Err(ApiError::invalid("cert_ttl", what))
        }
    }
}
