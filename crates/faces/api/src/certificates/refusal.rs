//! Errors of the CA, in the form of the API.

use api_types::{ApiError, kinds};
use pcp::Certname;
use pki::CaError;
use puppet_api::CaWorkError;
use serde_json::json;

use super::authority::ServerAuthority;
use crate::SharedApiContext;
use crate::failure::ApiFailure;

/// The authority of this server; an error if it has none.
pub(super) fn server_authority(api: &SharedApiContext) -> Result<&ServerAuthority, ApiError> {
    api.certificates.as_ref().ok_or_else(|| {
        let msg =
            "this server is no certificate authority (ca.enabled is false); ask the one that is";
        ApiError::new(kinds::NO_CERTIFICATE_AUTHORITY, msg)
    })
}

pub(super) fn unknown_certificate_error(certname: &Certname) -> ApiError {
    let msg = format!(
        "there is neither a request nor a certificate of {certname}; `tutti ca list --all` shows those that are \
         there"
    );
    ApiError::new(kinds::UNKNOWN_CERTIFICATE, msg).with("certname", json!(certname))
}

pub(super) fn ca_work_error(error: &CaWorkError) -> ApiFailure {
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
            | CaError::OtherRequest { .. }
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
