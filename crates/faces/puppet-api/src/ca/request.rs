//! `certificate_request/{name}`: submitted by nodes, deleted by administrators.

use std::path::Path;

use axum::extract::Path as PathVariable;
use axum::http::StatusCode;
use pki::ca::{SignOptions, SubmittedRequest};
use pki::csr::CertificateRequest;
use pki::{CaError, CertificateAuthority};

use super::audit_trail::{self, AuditRoute, CaOperation};
use super::autosign::AutosignDecision;
use super::body::WholeBody;
use super::failure::CaFailure;
use super::service::{CaService, CallerCaService, certname};
use crate::peer::PuppetApiCaller;

const SUBMIT: AuditRoute = "PUT /puppet-ca/v1/certificate_request/{name}";
const DELETE: AuditRoute = "DELETE /puppet-ca/v1/certificate_request/{name}";

pub(super) async fn fetch(
    CallerCaService(service): CallerCaService,
    PathVariable(name): PathVariable<String>,
) -> Result<String, CaFailure> {
    let certname = certname(&name)?;
    let found = service
        .read(move |ca| ca.request(certname.as_str()))
        .await?;
    match found {
        Some(request) => Ok(request.pem().to_owned()),
        None => Err(CaFailure::not_found(format!(
            "Could not find certificate_request {name}"
        ))),
    }
}

pub(super) async fn submit(
    CallerCaService(service): CallerCaService,
    PathVariable(name): PathVariable<String>,
    caller: PuppetApiCaller,
    WholeBody(body): WholeBody,
) -> Result<StatusCode, CaFailure> {
    let certname = certname(&name)?;
    let unasked = service.autosign_names();
    let source = service.source();
    let submitting = service.run(move |ca| {
        let name = certname.as_str();
        let submitted = ca.submit_from(name, &body, source)?;
        let decision = match submitted {
            SubmittedRequest::AlreadySigned => AutosignDecision::Wait,
            SubmittedRequest::Stored | SubmittedRequest::AlreadyWaiting => unasked.decide(ca, name),
        };
        // Others wait for an administrator: signing them would be refused, and any client could
        // fill the audit log with refusals.
        let is_plain = ca.may_sign(name, &SignOptions::without_consent())?;
        Ok((submitted, decision, is_plain))
    });
    let (submitted, decision, is_plain) = submitting.await?;
    tracing::info!(certname = name, ?submitted, "certificate request received");
    match decision {
        AutosignDecision::Wait => {}
        AutosignDecision::Sign | AutosignDecision::Ask(_) if !is_plain => tracing::warn!(
            certname = name,
            "not signed automatically: it asks for names or rights of its own"
        ),
        AutosignDecision::Sign => autosign(&service, &caller, &name, None).await?,
        AutosignDecision::Ask(program) => {
            if let Some(approved) = run_policy_program(&service, &program, &name).await? {
                autosign(&service, &caller, &name, Some(approved)).await?;
            }
        }
    }
    Ok(StatusCode::OK)
}

/// Runs the program on the request that the CA has stored, and returns that request if the program approves it. It
/// may have been signed or deleted meanwhile.
async fn run_policy_program(
    service: &CaService,
    program: &Path,
    name: &str,
) -> Result<Option<CertificateRequest>, CaFailure> {
    let certname = certname(name)?;
    let waiting = certname.clone();
    let request = service.read(move |ca| ca.request(waiting.as_str())).await?;
    let Some(request) = request else {
        return Ok(None);
    };
    let deciding = service.is_signed_by_policy(program, &certname, request.pem());
    Ok(deciding.await?.then_some(request))
}

/// Signs the request for a name: only this one, if a program has approved it.
async fn autosign(
    service: &CaService,
    caller: &PuppetApiCaller,
    name: &str,
    approved: Option<CertificateRequest>,
) -> Result<(), CaFailure> {
    let certname = certname(name)?;
    let sign = move |ca: &CertificateAuthority| {
        let options = SignOptions::without_consent();
        let signed = match &approved {
            Some(approved) => ca.sign_approved(certname.as_str(), approved, &options),
            None => ca.sign(certname.as_str(), &options),
        };
        match signed {
            // Two concurrent requests of one node: the other one was signed.
            Err(CaError::NoRequest { .. } | CaError::CertificateExists { .. }) => Ok(()),
            signed => signed.map(drop),
        }
    };
    let act = CaOperation::Sign.autosign_event(caller, SUBMIT, name);
    service.command(act, sign).await
}

pub(super) async fn delete(
    CallerCaService(service): CallerCaService,
    PathVariable(name): PathVariable<String>,
    caller: PuppetApiCaller,
) -> Result<StatusCode, CaFailure> {
    service
        .authorize(&caller, CaOperation::DeleteRequest, DELETE)
        .await?;
    let certname = certname(&name)?;
    let act = CaOperation::DeleteRequest.audited_action(
        audit_trail::actor_of(&caller),
        DELETE,
        Some(&name),
    );
    let delete = move |ca: &CertificateAuthority| ca.delete_request(certname.as_str());
    match service.command(act, delete).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(CaFailure::not_found(format!(
            "Could not find certificate_request {name}"
        ))),
    }
}
