//! Errors in puppetserver's formats: JSON `{message, issue_kind}` from the Puppet API
//! ([`PuppetApiFailure`]), plain text from the CA API ([`ca`](crate::ca)).

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use axum::Json;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::defaults::{BUSY_RETRY_MAX, BUSY_RETRY_MIN};

/// A request of the Puppet API that cannot be answered.
#[derive(Debug)]
pub(crate) struct PuppetApiFailure {
    status: StatusCode,
    message: String,
    issue_kind: &'static str,
    retry_after: Option<Duration>,
    /// True if the message alone is sent, as plain text.
    is_text: bool,
}

#[derive(Serialize)]
struct PuppetErrorBody {
    message: String,
    issue_kind: &'static str,
}

impl PuppetApiFailure {
    /// An answer in plain text, as puppetserver gives it on routes that are no part of Puppet's own API.
    pub(crate) fn text(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            issue_kind: "",
            retry_after: None,
            is_text: true,
        }
    }

    /// The same failure in plain text.
    pub(crate) fn into_text(self) -> Self {
        Self {
            is_text: true,
            ..self
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message: format!("Not Found: {}", message.into()),
            issue_kind: "RESOURCE_NOT_FOUND",
            retry_after: None,
            is_text: false,
        }
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            message: format!("Forbidden request: {}", message.into()),
            issue_kind: "FAILED_AUTHORIZATION",
            retry_after: None,
            is_text: false,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            issue_kind: "INVALID_REQUEST",
            retry_after: None,
            is_text: false,
        }
    }

    /// No media type that the client accepts is available.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_ACCEPTABLE,
            message: message.into(),
            issue_kind: "UNSUPPORTED_FORMAT",
            retry_after: None,
            is_text: false,
        }
    }

    /// An error of the code or of the configuration, which agents log.
    pub(crate) fn server_error(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: format!("Server Error: {}", message.into()),
            issue_kind: "RUNTIME_ERROR",
            retry_after: None,
            is_text: false,
        }
    }

    /// The body is of a type that is not taken.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            message: message.into(),
            issue_kind: "UNSUPPORTED_MEDIA_TYPE",
            retry_after: None,
            is_text: false,
        }
    }

    /// The body has more bytes than are taken.
    pub(crate) fn too_large(limit: usize) -> Self {
        Self::payload_too_large(format!("the body has more than {} MiB", limit >> 20))
    }

    /// The data of the node are too large, for the reason that the message gives.
    pub(crate) fn payload_too_large(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            message: message.into(),
            issue_kind: "INVALID_REQUEST",
            retry_after: None,
            is_text: false,
        }
    }

    /// The client did not send its body in time.
    pub(crate) fn slow(limit: Duration) -> Self {
        Self {
            status: StatusCode::REQUEST_TIMEOUT,
            message: format!("the body did not arrive within {} seconds", limit.as_secs()),
            issue_kind: "REQUEST_TIMEOUT",
            retry_after: None,
            is_text: false,
        }
    }

    /// The server cannot answer now. Agents wait, and send the request again.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: format!("Server Error: {}", message.into()),
            issue_kind: "SERVICE_UNAVAILABLE",
            retry_after: Some(random_pause()),
            is_text: false,
        }
    }

    /// The puppetserver behind this server does not answer. An agent is not told to wait: it uses its last
    /// catalog, as it does when the puppetserver itself cannot be reached.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self {
            retry_after: None,
            ..Self::busy(message)
        }
    }

    /// The same for a puppetserver that accepted the request.
    pub(crate) fn with_timeout_status(self) -> Self {
        Self {
            status: StatusCode::GATEWAY_TIMEOUT,
            ..self
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
            is_text: false,
        }
    }
}

/// A random pause before a request is sent again, as puppetserver chooses it.
fn random_pause() -> Duration {
    let spread = (BUSY_RETRY_MAX - BUSY_RETRY_MIN).as_secs();
    let random = RandomState::new().build_hasher().finish();
    BUSY_RETRY_MIN + Duration::from_secs(random % (spread + 1))
}

impl IntoResponse for PuppetApiFailure {
    fn into_response(self) -> Response {
        let mut response = match self.is_text {
            true => (self.status, self.message).into_response(),
            false => {
                let body = PuppetErrorBody {
                    message: self.message,
                    issue_kind: self.issue_kind,
                };
                (self.status, Json(body)).into_response()
            }
        };
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

/// Refuses a route that Puppet's default rules allow to no client.
pub(crate) async fn closed_route() -> PuppetApiFailure {
    PuppetApiFailure::forbidden(
        "Puppet's default rules allow this to no client; name an auth.conf with a rule for it as \
         puppet_api.auth_conf of the server",
    )
}
