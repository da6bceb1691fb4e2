//! `POST /inventory/v1/command/purge-node`: removes a node.
//!
//! Invariants: the certificate is revoked before data is deleted, so that the node cannot report again;
//! each step finds what an interrupted request has left, so the request can be repeated.

use api_types::{ApiError, NodePurged, PurgeNode, RevocationInForce, kinds};
use axum::Json;
use axum::extract::State;
use pcp::Certname;
use run_reports::{ForgetNodeError, NodeDeactivation};
use serde_json::json;

use crate::SharedApiContext;
use crate::audit::RequestOrigin;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::certificates;
use crate::failure::ApiFailure;
use crate::query;

/// The certificate of a node after its removal.
enum PurgedCertificate {
    Cleaned(RevocationInForce),
    Unknown,
    Elsewhere,
}

pub(crate) async fn purge(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    origin: RequestOrigin,
    StrictBody(command): StrictBody<PurgeNode>,
) -> Result<Json<NodePurged>, ApiFailure> {
    let certname: Certname = command
        .certname
        .parse()
        .map_err(|error| ApiError::invalid("certname", error))?;
    if command.only_deactivate {
        let puppetdb = deactivate(&api, &certname).await?;
        if puppetdb == NodeDeactivation::NoPuppetDb {
            let msg = "there is no PuppetDB in which the node could be deactivated; leave only_deactivate out \
                       to remove its certificate and data here";
            return Err(ApiError::invalid("only_deactivate", msg).into());
        }
        return Ok(Json(NodePurged {
            certname: certname.to_string(),
            certificate: "kept".to_owned(),
            revocation: None,
            was_known: false,
            puppetdb: describe(puppetdb).to_owned(),
        }));
    }
    refuse_privileged(&api, &certname)?;
    let (certificate, revocation) = match clean(&api, &caller, &origin, &certname).await? {
        PurgedCertificate::Cleaned(revocation) => ("cleaned", Some(revocation)),
        PurgedCertificate::Unknown => ("unknown", None),
        PurgedCertificate::Elsewhere => ("elsewhere", None),
    };
    api.agent_catalogs.forget_node(&certname).await;
    let was_known = api.run_reports.forget_node(&certname).await?;
    let puppetdb = deactivate(&api, &certname).await?;
    Ok(Json(NodePurged {
        certname: certname.to_string(),
        certificate: certificate.to_owned(),
        revocation,
        was_known,
        puppetdb: describe(puppetdb).to_owned(),
    }))
}

/// A server, a broker or a program is no node that goes: what depends on its certificate would stop.
fn refuse_privileged(api: &SharedApiContext, certname: &Certname) -> Result<(), ApiError> {
    let names = &api.info.privileged_names;
    let Some(found) = names.find_privileged(certname.as_str()) else {
        return Ok(());
    };
    let msg = format!(
        "{certname} has rights by {}; take it out of there first, or revoke its certificate with `tutti ca clean`",
        found.origin
    );
    Err(ApiError::new(kinds::CERTIFICATE_REFUSED, msg).with("certname", json!(certname)))
}

async fn clean(
    api: &SharedApiContext,
    caller: &ApiCaller,
    origin: &RequestOrigin,
    certname: &Certname,
) -> Result<PurgedCertificate, ApiFailure> {
    if api.certificates.is_none() {
        return Ok(PurgedCertificate::Elsewhere);
    }
    caller.demand(api, "cert_requests", "accept_reject", "*")?;
    let cleaned = certificates::clean_of_node(api, origin, certname).await?;
    Ok(cleaned.map_or(PurgedCertificate::Unknown, PurgedCertificate::Cleaned))
}

async fn deactivate(
    api: &SharedApiContext,
    certname: &Certname,
) -> Result<NodeDeactivation, ApiFailure> {
    let deactivated = api.run_reports.deactivate_node(certname).await;
    deactivated.map_err(|error| match error {
        ForgetNodeError::Store(error) => error.into(),
        ForgetNodeError::PuppetDb(error) => query::failure(error),
        ForgetNodeError::Queue(_) => {
            ApiFailure::internal("queue the deactivation of a node for PuppetDB", &error)
        }
    })
}

fn describe(deactivation: NodeDeactivation) -> &'static str {
    match deactivation {
        NodeDeactivation::Queued => "queued",
        NodeDeactivation::Sent => "deactivated",
        NodeDeactivation::NoPuppetDb => "none",
    }
}
