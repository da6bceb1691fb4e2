//! The certificate authority: `/puppet-ca/v1/certificate_status`, for users with a token.
//!
//! Invariants: requests with more than a plain certname (alternative names, authorization
//! extensions, a privileged name) can be signed by administrators only; and a revocation is
//! answered when the brokers have ended the sessions of the certificate, or with the names of the
//! brokers that have not.

mod revocation;
mod signing;

use std::sync::Arc;
use std::time::Duration;

use api_types::{
    ApiError, CertificateChange, CertificateChanged, CertificateStatus, CertificateStatuses,
    CertificatesQuery, DesiredState, Policy, Route, kinds,
};
use axum::Json;
use axum::extract::State;
use pcp::Certname;
use pki::{CaError, CertnamePrivilege, ServerTls};
use puppet_api::{CaService, CaWorkError, certificate_status};
use serde_json::json;

use crate::SharedApiContext;
use crate::audit::RequestOrigin;
use crate::body::StrictBody;
use crate::failure::ApiFailure;
use crate::guard::ApiCaller;
use crate::request_parameters::{PathVariables, QueryParameters};

/// The CA of this server, and the TLS settings that reject revoked certificates.
#[derive(Clone, Debug)]
pub struct ServerAuthority {
    /// The CA service, shared with port 8140, so that the limits of concurrent work apply to both.
    pub service: CaService,
    /// TLS settings of the listeners and of the broker in this process.
    pub tls: Arc<ServerTls>,
    /// Time that the response to a revocation waits for brokers;
    /// [`defaults::REVOCATION_WAIT`](crate::defaults).
    pub revocation_wait: Duration,
}

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
    Ok(Json(CertificateChanged {
        certname: certname.to_string(),
        state: "cleaned".to_owned(),
        certificate: None,
        revocation: Some(revocation),
    }))
}

/// Authenticates a client certificate that may administer the CA, on the CA's routes only; `None`
/// for any other certificate or route. The same certificates are accepted on port 8140.
pub(crate) fn authenticate_administrator(
    api: &SharedApiContext,
    route: &Route,
    certname: &str,
    leaf: &[u8],
) -> Option<ApiCaller> {
    if !is_ca_route(route) {
        return None;
    }
    let names = &api.info.privileged_names;
    let may = names.has_privilege(CertnamePrivilege::CaAdministrator, certname)
        || pki::identity::may_administer_ca(leaf);
    may.then(|| ApiCaller(api.access.ca_administrator(certname)))
}

/// True for a route of the CA.
pub(crate) fn is_ca_route(route: &Route) -> bool {
    matches!(
        route.policy,
        Policy::Permission {
            object_type: "cert_requests",
            ..
        }
    )
}

fn service(api: &SharedApiContext, origin: &RequestOrigin) -> Result<CaService, ApiError> {
    let certificates = certificates(api)?;
    Ok(certificates.service.for_caller(origin.address()))
}

fn certificates(api: &SharedApiContext) -> Result<&ServerAuthority, ApiError> {
    api.certificates.as_ref().ok_or_else(|| {
        let msg =
            "this server is no certificate authority (ca.enabled is false); ask the one that is";
        ApiError::new(kinds::NO_CERTIFICATE_AUTHORITY, msg)
    })
}

fn certname(PathVariables(text): PathVariables<String>) -> Result<Certname, ApiError> {
    text.parse()
        .map_err(|error| ApiError::invalid("certname", error))
}

fn unknown_certificate_error(certname: &Certname) -> ApiError {
    let msg = format!(
        "there is neither a request nor a certificate of {certname}; `tutti ca list --all` shows those that are \
         there"
    );
    ApiError::new(kinds::UNKNOWN_CERTIFICATE, msg).with("certname", json!(certname))
}

fn ca_work_error(error: &CaWorkError) -> ApiFailure {
    let kind = match error {
        CaWorkError::Busy => kinds::UNAVAILABLE,
        CaWorkError::Panicked(_) => return ApiFailure::internal("work on certificates", error),
        CaWorkError::Ca(ca) => match ca {
            CaError::Certname { .. }
            | CaError::Request(_)
            | CaError::NameMismatch { .. }
            | CaError::BadAltName(_) => kinds::VALIDATION,
            CaError::NoRequest { .. } | CaError::NoCertificate { .. } => kinds::UNKNOWN_CERTIFICATE,
            CaError::RequestExists { .. }
            | CaError::CertificateExists { .. }
            | CaError::AltNames { .. }
            | CaError::Authorization { .. }
            | CaError::PrivilegedName { .. } => kinds::CERTIFICATE_REFUSED,
            CaError::TooManyRequests { .. } | CaError::SourceFull { .. } => kinds::UNAVAILABLE,
            _ => return ApiFailure::internal("work on certificates", ca),
        },
    };
    ApiError::new(kind, error.to_string()).into()
}
