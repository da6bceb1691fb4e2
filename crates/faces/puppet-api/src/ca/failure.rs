//! Errors of the CA API: plain text, which `puppet ssl` prints.

use std::time::Duration;

use axum::extract::rejection::BytesRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use pki::CaError;

use super::service::CaWorkError;
use crate::defaults::{CA_BUSY_RETRY, LIST_FULL_RETRY};

#[derive(Debug)]
pub(super) struct CaFailure {
    status: StatusCode,
    message: String,
    retry_after: Option<Duration>,
}

impl CaFailure {
    fn new(status: StatusCode, message: String) -> Self {
        Self {
            status,
            message,
            retry_after: None,
        }
    }

    #[cfg(test)]
    pub(super) fn into_message(self) -> String {
        self.message
    }

    /// Adds the time after which the client should retry.
    fn retry_after(self, pause: Duration) -> Self {
        Self {
            retry_after: Some(pause),
            ..self
        }
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message.into())
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        let message = format!("Forbidden request: {}", message.into());
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message.into())
    }

    /// The client did not send its body in time.
    pub(super) fn timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, message.into())
    }

    /// The CA is overloaded; agents retry by themselves.
    pub(super) fn busy_failure() -> Self {
        let message = "the certificate authority is busy; try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message.to_owned()).retry_after(CA_BUSY_RETRY)
    }

    /// The audit log accepts no entry, so nothing was done.
    pub(super) fn unaudited_failure(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "the CA does nothing, since the audit takes no entry");
        let message = "the entry of the audit cannot be written, and without one nothing is done; \
                       try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message.to_owned())
    }

    /// Internal error. The cause goes to the log only: it names paths of this host.
    pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "the CA failed");
        let message = "the certificate authority failed; see the server's log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message.to_owned())
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

impl From<CaWorkError> for CaFailure {
    fn from(error: CaWorkError) -> Self {
        match error {
            CaWorkError::Busy => Self::busy_failure(),
            CaWorkError::Ca(error) => error.into(),
            CaWorkError::Panicked(panic) => Self::internal(&panic),
        }
    }
}

impl From<CaError> for CaFailure {
    fn from(error: CaError) -> Self {
        let status = match &error {
            CaError::Certname { .. }
            | CaError::Request(_)
            | CaError::NameMismatch { .. }
            | CaError::RequestExists { .. }
            // puppet-agent goes on and waits for a certificate after this status alone
            | CaError::OtherRequest { .. }
            | CaError::CertificateExists { .. }
            | CaError::BadAltName(_) => StatusCode::BAD_REQUEST,
            CaError::OtherKey { .. } => StatusCode::FORBIDDEN,
            CaError::NoRequest { .. }
            | CaError::NoCertificate { .. }
            | CaError::AltNames { .. }
            | CaError::Authorization { .. }
            | CaError::PrivilegedName { .. } => StatusCode::CONFLICT,
            CaError::SourceFull { .. } => {
                return Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string())
                    .retry_after(LIST_FULL_RETRY);
            }
            CaError::TooManyRequests { .. } => {
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                    .retry_after(LIST_FULL_RETRY);
            }
            _ => return Self::internal(&error),
        };
        Self::new(status, error.to_string())
    }
}

impl From<BytesRejection> for CaFailure {
    fn from(refused: BytesRejection) -> Self {
        Self::new(refused.status(), refused.body_text())
    }
}

impl IntoResponse for CaFailure {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.message).into_response();
        if let Some(pause) = self.retry_after {
            let seconds = pause.as_secs().into();
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}
