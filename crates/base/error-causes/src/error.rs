//! A failed connection and its kind: [`ConnectionError`].

use std::error::Error;
use std::fmt;
use std::io;

use crate::chain::causes;
use crate::{io_errors, tls};

/// A failed connection. `Display` is a clause without an address, for example `no answer in time`
/// or `the peer's certificate has expired`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    kind: ConnectionErrorKind,
    text: String,
}

/// Kind of failure, by which a caller can decide on a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionErrorKind {
    /// The peer's certificate is not accepted here. A retry cannot succeed.
    PeerCertificate,
    /// The peer does not accept the certificate of this side, or requires one. A retry cannot
    /// succeed.
    OwnCertificate,
    /// TLS failed in another way; often the peer does not support TLS at all.
    Tls,
    /// The peer did not answer in time.
    Timeout,
    /// The name of the host has no address.
    Name,
    /// The connection could not be made, or it broke.
    Io,
    /// The peer's bytes are not HTTP.
    Http,
    /// Anything else, for example a request that cannot be built.
    Other,
}

// === impl ConnectionError ===

impl ConnectionError {
    /// Finds the most specific cause of `error`. Addresses are left out.
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        let found = causes(error).find_map(|cause| {
            let tls = cause.downcast_ref().map(tls::describe);
            let http = || cause.downcast_ref().and_then(describe_http);
            let timeout = || cause.downcast_ref().and_then(describe_timeout);
            tls.or_else(http).or_else(timeout)
        });
        let io = || {
            let cause = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
            cause.last().map(io_errors::describe)
        };
        found.or_else(io).unwrap_or_else(|| {
            let innermost = causes(error).last().unwrap_or(error);
            let text = match innermost.downcast_ref::<reqwest::Error>() {
                // The error's own text contains the address.
                Some(error) => describe_request(error).to_owned(),
                None => innermost.to_string(),
            };
            Self::new(ConnectionErrorKind::Other, text)
        })
    }

    /// Kind of the failure.
    pub fn kind(&self) -> ConnectionErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: ConnectionErrorKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for ConnectionError {}

fn describe_timeout(error: &reqwest::Error) -> Option<ConnectionError> {
    error
        .is_timeout()
        .then(|| ConnectionError::new(ConnectionErrorKind::Timeout, "no answer in time"))
}

/// Describes an error of HTTP that has no error of the connection as its cause.
fn describe_http(error: &hyper::Error) -> Option<ConnectionError> {
    if error.is_incomplete_message() {
        let text = "the connection broke off before the answer was complete";
        return Some(ConnectionError::new(ConnectionErrorKind::Io, text));
    }
    let text = "the peer does not answer in HTTP";
    error
        .is_parse()
        .then(|| ConnectionError::new(ConnectionErrorKind::Http, text))
}

fn describe_request(error: &reqwest::Error) -> &'static str {
    if error.is_redirect() {
        "too many redirections"
    } else if error.is_builder() {
        "the address is no URL of HTTP"
    } else if error.is_decode() || error.is_body() {
        "the answer cannot be decoded"
    } else {
        "the request failed"
    }
}
