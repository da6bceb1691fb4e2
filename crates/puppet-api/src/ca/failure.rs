//! Errors of the CA API: plain text, as `puppet ssl` prints them.

use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pki::CaError;

#[derive(Debug)]
pub(super) struct CaFailure {
    status: StatusCode,
    message: String,
}

impl CaFailure {
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message: message.into(),
        }
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        let message = format!("Forbidden request: {}", message.into());
        Self {
            status: StatusCode::FORBIDDEN,
            message,
        }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
        }
    }

    /// The client did not send its body in time.
    pub(super) fn timeout(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::REQUEST_TIMEOUT,
            message: message.into(),
        }
    }

    /// Too much to do; agents try again by themselves.
    pub(super) fn busy() -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: "the certificate authority is busy; try again later".to_owned(),
        }
    }

    /// The audit takes no entry, so nothing was done.
    pub(super) fn unaudited(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "the CA does nothing, since the audit takes no entry");
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message:
                "the entry of the audit cannot be written, and without one nothing is done; try \
                      again later"
                    .to_owned(),
        }
    }

    /// The cause goes to the log: it names paths of this host.
    pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "the CA failed");
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: "the certificate authority failed; see the server's log".to_owned(),
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

impl From<CaError> for CaFailure {
    fn from(error: CaError) -> Self {
        let status = match &error {
            CaError::Certname { .. }
            | CaError::Request(_)
            | CaError::NameMismatch { .. }
            | CaError::RequestExists { .. }
            | CaError::CertificateExists { .. }
            | CaError::BadAltName(_) => StatusCode::BAD_REQUEST,
            CaError::NoRequest { .. }
            | CaError::NoCertificate { .. }
            | CaError::AltNames { .. }
            | CaError::Authorization { .. } => StatusCode::CONFLICT,
            CaError::TooManyRequests { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => return Self::internal(&error),
        };
        Self {
            status,
            message: error.to_string(),
        }
    }
}

impl From<BytesRejection> for CaFailure {
    fn from(refused: BytesRejection) -> Self {
        Self {
            status: refused.status(),
            message: refused.body_text(),
        }
    }
}

impl IntoResponse for CaFailure {
    fn into_response(self) -> Response {
        (self.status, self.message).into_response()
    }
}
