//! `certificate_request/{name}`: submitted by nodes, deleted by administrators.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use pki::ca::{Entry, SignOptions, Submitted};
use pki::{CaError, CertificateAuthority};

use super::body::WholeBody;
use super::failure::CaFailure;
use super::service::{CaService, certname};
use super::trail::{self, Deed, Route};
use crate::peer::Caller;

const SUBMIT: Route = "PUT /puppet-ca/v1/certificate_request/{name}";
const DELETE: Route = "DELETE /puppet-ca/v1/certificate_request/{name}";

pub(super) async fn fetch(
    State(service): State<CaService>,
    Path(name): Path<String>,
) -> Result<String, CaFailure> {
    let certname = certname(&name)?;
    let found = service.run(move |ca| ca.request(certname.as_str())).await?;
    match found {
        Some(request) => Ok(request.pem().to_owned()),
        None => Err(CaFailure::not_found(format!(
            "Could not find certificate_request {name}"
        ))),
    }
}

pub(super) async fn submit(
    State(service): State<CaService>,
    Path(name): Path<String>,
    caller: Caller,
    WholeBody(body): WholeBody,
) -> Result<StatusCode, CaFailure> {
    let certname = certname(&name)?;
    let autosign = service.signs_unasked(&name);
    let submitting = service.run(move |ca| {
        let submitted = ca.submit(certname.as_str(), &body)?;
        let sign = autosign && submitted != Submitted::AlreadySigned;
        let plain = sign
            && ca
                .entry(certname.as_str())?
                .is_some_and(|entry| is_plain(&entry));
        Ok((submitted, plain))
    });
    let (submitted, sign) = submitting.await?;
    tracing::info!(certname = name, ?submitted, "certificate request received");
    if sign {
        sign_unasked(&service, &caller, &name).await?;
    } else if autosign && submitted != Submitted::AlreadySigned {
        tracing::warn!(
            certname = name,
            "not signed automatically: it asks for names or rights of its own"
        );
    }
    Ok(StatusCode::OK)
}

async fn sign_unasked(service: &CaService, caller: &Caller, name: &str) -> Result<(), CaFailure> {
    let certname = certname(name)?;
    let sign = move |ca: &CertificateAuthority| {
        match ca.sign(certname.as_str(), &SignOptions::default()) {
            // Two requests of one node at once: the other one was signed.
            Err(CaError::NoRequest { .. } | CaError::CertificateExists { .. }) => Ok(()),
            signed => signed.map(drop),
        }
    };
    let act = Deed::Sign.unasked(caller, SUBMIT, name);
    service.command(act, sign).await
}

/// Whether a request asks for nothing but its name. Anything else waits for a person: signing it
/// would be refused, and everybody could fill the audit with that.
fn is_plain(request: &Entry) -> bool {
    let own = format!("DNS:{}", request.certname);
    request.authorization_extensions.is_empty() && request.alt_names.iter().all(|name| *name == own)
}

pub(super) async fn delete(
    State(service): State<CaService>,
    Path(name): Path<String>,
    caller: Caller,
) -> Result<StatusCode, CaFailure> {
    service
        .authorize(&caller, Deed::DeleteRequest, DELETE)
        .await?;
    let certname = certname(&name)?;
    let act = Deed::DeleteRequest.act(trail::actor(&caller), DELETE, Some(&name));
    let delete = move |ca: &CertificateAuthority| ca.delete_request(certname.as_str());
    match service.command(act, delete).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(CaFailure::not_found(format!(
            "Could not find certificate_request {name}"
        ))),
    }
}
