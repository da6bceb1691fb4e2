//! `POST certificate_renewal`: a new certificate for the holder of one that ends soon, as agents of Puppet 8
//! request it 30 days before (`hostcert_renewal_interval`).

use axum::http::header;
use axum::response::{IntoResponse, Response};
use pki::CertificateAuthority;
use pki::ca::RenewedCertificate;

use super::audit_trail::{self, AuditRoute, CaOperation};
use super::failure::CaFailure;
use super::service::{CallerCaService, certname};
use crate::peer::PuppetApiCaller;

const RENEW: AuditRoute = "POST /puppet-ca/v1/certificate_renewal";

pub(super) async fn renew(
    CallerCaService(service): CallerCaService,
    caller: PuppetApiCaller,
) -> Result<Response, CaFailure> {
    // agents take this status for a server that renews nothing
    let Some(lifetime) = service.renewal_lifetime() else {
        return Err(CaFailure::not_found("Not Found"));
    };
    let Some(peer) = caller.certificate.0.clone() else {
        return Err(CaFailure::bad_request(
            "No valid certificate found in renewal request",
        ));
    };
    let name = certname(&peer.certname)?;
    let (holder, leaf) = (name.clone(), peer.der.clone());
    let current = service
        .read(move |ca| ca.current_certificate(holder.as_str(), &leaf, lifetime))
        .await?;
    let pem = match current {
        Some(pem) => pem,
        None => {
            let actor = audit_trail::actor_of(&caller);
            let act = CaOperation::Renew.audited_action(actor, RENEW, Some(name.as_str()));
            let renew =
                move |ca: &CertificateAuthority| ca.renew(name.as_str(), &peer.der, lifetime);
            match service.command(act, renew).await? {
                RenewedCertificate::Current(pem) | RenewedCertificate::Renewed(pem) => pem,
            }
        }
    };
    Ok(([(header::CONTENT_TYPE, "text/plain")], pem).into_response())
}
