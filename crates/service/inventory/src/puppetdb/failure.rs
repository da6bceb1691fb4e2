//! Converts errors of the HTTP client: [`classify_error`].

use std::time::Duration;

use error_causes::{ConnectionError, ConnectionErrorKind};

use crate::QueryError;

/// Converts an HTTP error into an error of the inventory. `after` is the timeout of the request.
pub(super) fn classify_error(url: &str, error: &reqwest::Error, after: Duration) -> QueryError {
    use ConnectionErrorKind as Kind;
    let url = url.to_owned();
    let found = ConnectionError::from_error(error);
    let cause = found.to_string();
    match found.kind() {
        Kind::PeerCertificate | Kind::OwnCertificate => QueryError::Certificate { url, cause },
        Kind::Timeout => QueryError::Timeout { url, after },
        Kind::Io | Kind::Name | Kind::Tls => QueryError::Unreachable { url, cause },
        Kind::Http | Kind::Other => QueryError::Garbage { url, what: cause },
    }
}
