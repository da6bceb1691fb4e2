//! Errors of submissions: [`SubmissionFailure`], in puppetserver's format.

use std::time::Duration;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use inventory::RecordError;
use run_reports::RecordRunError;
use serde_json::json;

use crate::defaults::SUBMISSION_RETRY;

/// Data of a node that is not taken.
#[derive(Debug)]
pub(super) struct SubmissionFailure {
    status: StatusCode,
    kind: &'static str,
    message: String,
    retry_after: Option<Duration>,
}

// === impl SubmissionFailure ===

impl SubmissionFailure {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        let message = format!("Forbidden request: {}", message.into());
        Self::new(StatusCode::FORBIDDEN, "FAILED_AUTHORIZATION", message)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(status, "UNSUPPORTED_MEDIA_TYPE", message)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("the body has more than {} MiB", limit >> 20);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "INVALID_REQUEST", message)
    }

    pub(super) fn slow(limit: Duration) -> Self {
        let message = format!("the body did not arrive within {} seconds", limit.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", message)
    }

    /// The server cannot take the data now. Agents wait and send it again.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self {
            retry_after: Some(SUBMISSION_RETRY),
            ..Self::new(status, "SERVICE_UNAVAILABLE", message)
        }
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        let message = format!("Server Error: {}", message.into());
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "RUNTIME_ERROR", message)
    }
}

impl From<RecordRunError> for SubmissionFailure {
    fn from(error: RecordRunError) -> Self {
        let cause = error_causes::chain(&error).to_string();
        tracing::error!(error = cause, "data of a node cannot be recorded");
        match error {
            RecordRunError::Store(_) | RecordRunError::ShuttingDown => {
                Self::busy("the data cannot be written now; see the server's log")
            }
            RecordRunError::Inventory(RecordError::TooLarge { .. })
            | RecordRunError::TooLarge { .. } => {
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                Self::new(status, "INVALID_REQUEST", cause)
            }
            RecordRunError::Inventory(_) => {
                Self::internal(format!("the data cannot be recorded: {cause}"))
            }
            RecordRunError::Compress(_) => Self::internal("see the server's log"),
        }
    }
}

impl IntoResponse for SubmissionFailure {
    fn into_response(self) -> Response {
        let body = json!({"message": self.message, "issue_kind": self.kind});
        let mut response = (self.status, Json(body)).into_response();
        if let Some(pause) = self.retry_after {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, pause.as_secs().into());
        }
        response
    }
}
