//! Errors in puppetserver's formats: JSON `{message, issue_kind}` from the Puppet API
//! ([`PuppetApiFailure`]), plain text from the CA API ([`ca`](crate::ca)).

use axum::Json;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A request of the Puppet API that cannot be answered.
#[derive(Debug)]
pub(crate) struct PuppetApiFailure {
    status: StatusCode,
    message: String,
    issue_kind: &'static str,
}

#[derive(Serialize)]
struct PuppetErrorBody {
    message: String,
    issue_kind: &'static str,
}

impl PuppetApiFailure {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message: format!("Not Found: {}", message.into()),
            issue_kind: "RESOURCE_NOT_FOUND",
        }
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            message: format!("Forbidden request: {}", message.into()),
            issue_kind: "FAILED_AUTHORIZATION",
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            issue_kind: "INVALID_REQUEST",
        }
    }

    /// An internal error: the cause goes to the log, not to the client.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request failed");
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: "Server Error: see the server's log".to_owned(),
            issue_kind: "RUNTIME_ERROR",
        }
    }
}

impl IntoResponse for PuppetApiFailure {
    fn into_response(self) -> Response {
        let body = PuppetErrorBody {
            message: self.message,
            issue_kind: self.issue_kind,
        };
        (self.status, Json(body)).into_response()
    }
}

/// Answers every path that has no route.
pub(crate) async fn not_found(uri: Uri) -> PuppetApiFailure {
    PuppetApiFailure::not_found(format!("there is nothing at {}", uri.path()))
}
