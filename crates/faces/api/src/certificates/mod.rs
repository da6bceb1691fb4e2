//! The certificate authority: `/puppet-ca/v1/certificate_status`, for users with a token.
//!
//! Invariants: requests with more than a plain certname (alternative names, authorization
//! extensions, a privileged name) can be signed by administrators only; and a revocation is
//! answered when the brokers have ended the sessions of the certificate, or with the names of the
//! brokers that have not.

mod administrators;
mod authority;
mod refusal;
mod revocation;
mod signing;

use api_types::{
    ApiError, CertificateChange, CertificateChanged, CertificateStatus, CertificateStatuses,
    CertificatesQuery, DesiredState, RevocationInForce,
};
use axum::Json;
use axum::extract::State;
use pcp::Certname;
use puppet_api::{CaService, certificate_status};

pub(crate) use self::administrators::{authenticate_administrator, is_ca_route};
pub use self::authority::ServerAuthority;
use self::refusal::{ca_work_error, server_authority, unknown_certificate_error};
use crate::SharedApiContext;
use crate::audit::RequestOrigin;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    origin: RequestOrigin,
    QueryParameters(given): QueryParameters,
) -> Result<Json<CertificateStatuses>, ApiFailure> {
    let query = CertificatesQuery::from_parameters(given)?;
    let entries = service(&api, &origin)?.run_blocking(|ca| ca.list()).await;
    let entries = entries.map_err(|error| ca_work_error(&error))?;
    let all = entries.into_iter().map(certificate_status);
    let is_asked_for =
        |status: &CertificateStatus| query.state.as_ref().is_none_or(|it| *it == status.state);
    Ok(Json(CertificateStatuses(
        all.filter(is_asked_for).collect(),
    )))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    origin: RequestOrigin,
    variables: PathVariables<String>,
) -> Result<Json<CertificateStatus>, ApiFailure> {
    let certname = certname(variables)?;
    let name = certname.clone();
    let entry = service(&api, &origin)?
        .run_blocking(move |ca| ca.entry(name.as_str()))
        .await
        .map_err(|error| ca_work_error(&error))?;
    let entry = entry.ok_or_else(|| unknown_certificate_error(&certname))?;
    Ok(Json(certificate_status(entry)))
}

pub(crate) async fn change(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    origin: RequestOrigin,
    variables: PathVariables<String>,
    StrictBody(change): StrictBody<CertificateChange>,
) -> Result<Json<CertificateChanged>, ApiFailure> {
    let certname = certname(variables)?;
    let service = service(&api, &origin)?;
    match change.desired_state {
        DesiredState::Signed => {
            let certificate = signing::sign(&api, &service, &caller, &certname, change).await?;
            Ok(Json(CertificateChanged {
                certname: certname.to_string(),
                state: "signed".to_owned(),
                certificate: Some(certificate),
                revocation: None,
            }))
        }
        DesiredState::Revoked => {
            let revocation = revocation::revoke(&api, &service, &certname).await?;
            Ok(Json(CertificateChanged {
                certname: certname.to_string(),
                state: "revoked".to_owned(),
                certificate: None,
                revocation: Some(revocation),
            }))
        }
    }
}

pub(crate) async fn clean(
    State(api): State<SharedApiContext>,
    origin: RequestOrigin,
    variables: PathVariables<String>,
) -> Result<Json<CertificateChanged>, ApiFailure> {
    let certname = certname(variables)?;
    let service = service(&api, &origin)?;
    let revocation = revocation::clean(&api, &service, &certname).await?;
    let revocation = revocation.ok_or_else(|| unknown_certificate_error(&certname))?;
    Ok(Json(CertificateChanged {
        certname: certname.to_string(),
        state: "cleaned".to_owned(),
        certificate: None,
        revocation: Some(revocation),
    }))
}

/// Revokes and deletes the certificates of a node that is removed. `None` if it has none.
pub(crate) async fn clean_of_node(
    api: &SharedApiContext,
    origin: &RequestOrigin,
    certname: &Certname,
) -> Result<Option<RevocationInForce>, ApiFailure> {
    let service = service(api, origin)?;
    revocation::clean(api, &service, certname).await
}

fn service(api: &SharedApiContext, origin: &RequestOrigin) -> Result<CaService, ApiError> {
    Ok(server_authority(api)?.service.for_caller(origin.address()))
}

fn certname(PathVariables(text): PathVariables<String>) -> Result<Certname, ApiError> {
    text.parse()
        .map_err(|error| ApiError::invalid("certname", error))
}
