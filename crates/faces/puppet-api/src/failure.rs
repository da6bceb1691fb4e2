//! Errors in puppetserver's formats: JSON `{message, issue_kind}` from the Puppet API
//! ([`PuppetApiFailure`]), plain text from the CA API ([`ca`](crate::ca)).

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::body::BodyFailure;

/// A request of the Puppet API that cannot be answered.
#[derive(Debug)]
pub(crate) struct PuppetApiFailure {
    status: StatusCode,
    message: String,
    issue_kind: &'static str,
    retry_after: Option<Duration>,
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
            retry_after: None,
        }
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            message: format!("Forbidden request: {}", message.into()),
            issue_kind: "FAILED_AUTHORIZATION",
            retry_after: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            issue_kind: "INVALID_REQUEST",
            retry_after: None,
        }
    }

    /// No media type that the client accepts is available.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_ACCEPTABLE,
            message: message.into(),
            issue_kind: "UNSUPPORTED_FORMAT",
            retry_after: None,
        }
    }

    /// An error of the code or of the configuration, which agents log.
    pub(crate) fn server_error(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: format!("Server Error: {}", message.into()),
            issue_kind: "RUNTIME_ERROR",
            retry_after: None,
        }
    }

    /// The server cannot answer now; agents wait as long and repeat the request.
    pub(crate) fn busy(message: impl Into<String>, retry_after: Duration) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: format!("Server Error: {}", message.into()),
            issue_kind: "SERVICE_UNAVAILABLE",
            retry_after: Some(retry_after),
        }
    }

    /// An internal error: the cause goes to the log, not to the client.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request failed");
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: "Server Error: see the server's log".to_owned(),
            issue_kind: "RUNTIME_ERROR",
            retry_after: None,
        }
    }
}

impl BodyFailure for PuppetApiFailure {
    fn timeout(message: String) -> Self {
        Self {
            status: StatusCode::REQUEST_TIMEOUT,
            message,
            issue_kind: "REQUEST_TIMEOUT",
            retry_after: None,
        }
    }
}

impl From<BytesRejection> for PuppetApiFailure {
    fn from(refused: BytesRejection) -> Self {
        Self {
            status: refused.status(),
            message: refused.body_text(),
            issue_kind: "INVALID_REQUEST",
            retry_after: None,
        }
    }
}

impl IntoResponse for PuppetApiFailure {
    fn into_response(self) -> Response {
        let body = PuppetErrorBody {
            message: self.message,
            issue_kind: self.issue_kind,
        };
        let mut response = (self.status, Json(body)).into_response();
        if let Some(pause) = self.retry_after {
            let seconds = pause.as_secs().into();
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

/// Answers every path that has no route.
pub(crate) async fn not_found(uri: Uri) -> PuppetApiFailure {
    PuppetApiFailure::not_found(format!("there is nothing at {}", uri.path()))
}
