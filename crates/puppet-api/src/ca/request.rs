//! `certificate_request/{name}`: submitted by nodes, deleted by administrators.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use pki::ca::{SignOptions, Submitted};

use super::body::WholeBody;
use super::failure::CaFailure;
use super::service::{CaService, certname};
use crate::peer::Caller;

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
    WholeBody(body): WholeBody,
) -> Result<StatusCode, CaFailure> {
    let certname = certname(&name)?;
    let autosign = service.signs_unasked(&name);
    let submitted = service.run(move |ca| {
        let submitted = ca.submit(certname.as_str(), &body)?;
        let waits = submitted != Submitted::AlreadySigned;
        if waits && autosign {
            match ca.sign(certname.as_str(), &SignOptions::default()) {
                Ok(_) => {}
                // It waits for a person: that is what was asked for.
                Err(error @ (pki::CaError::AltNames { .. } | pki::CaError::Authorization { .. })) => {
                    tracing::warn!(certname = certname.as_str(), %error, "not signed automatically");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(submitted)
    });
    let submitted = submitted.await?;
    tracing::info!(certname = name, ?submitted, "certificate request received");
    Ok(StatusCode::OK)
}

pub(super) async fn delete(
    State(service): State<CaService>,
    Path(name): Path<String>,
    caller: Caller,
) -> Result<StatusCode, CaFailure> {
    service.authorize(&caller)?;
    let certname = certname(&name)?;
    match service
        .run(move |ca| ca.delete_request(certname.as_str()))
        .await?
    {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(CaFailure::not_found(format!(
            "Could not find certificate_request {name}"
        ))),
    }
}
