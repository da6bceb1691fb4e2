//! The URL of a webhook, checked when it is entered: [`ReceiverUrl`].
//!
//! Invariants: `https` is allowed everywhere, `http` for this machine only; the URL has no user
//! and password (they would appear in lists and logs); redirects are never followed, so only the
//! checked URL is called.

use reqwest::Url;

use crate::defaults::URL_BYTES;

/// A checked URL of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceiverUrl(Url);

/// The URL is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text is not a URL.
    #[error("not a URL; write one such as https://ci.example.com/hook")]
    Form,
    /// The scheme is neither https, nor http on this machine.
    #[error("the URL must begin with https:// (http:// only for localhost)")]
    Scheme,
    /// The URL contains a user or password.
    #[error("the URL must not carry a user or a password; messages are signed instead")]
    Credentials,
    /// The URL is too long.
    #[error("the URL has more than {URL_BYTES} bytes")]
    Length,
}

// === impl ReceiverUrl ===

impl ReceiverUrl {
    /// Parses and checks a URL.
    pub(crate) fn parse(text: &str) -> Result<Self, TargetError> {
        if text.len() > URL_BYTES {
            return Err(TargetError::Length);
        }
        let url = Url::parse(text).map_err(|_| TargetError::Form)?;
        let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match url.scheme() {
            "https" if url.host_str().is_some() => {}
            "http" if local => {}
            _ => return Err(TargetError::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Credentials);
        }
        Ok(Self(url))
    }

    /// The URL as text.
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn url(&self) -> Url {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_and_local_http_are_taken() {
        for good in [
            "https://ci.example.com/hook?x=1",
            "http://localhost:9/x",
            "http://127.0.0.1/",
            "http://[::1]:8080/",
        ] {
            assert!(ReceiverUrl::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        let long = format!("https://a/{}", "x".repeat(URL_BYTES));
        for (bad, why) in [
            ("http://example.com/", TargetError::Scheme),
            ("http://localhost.example.com/", TargetError::Scheme),
            ("ftp://example.com/", TargetError::Scheme),
            ("file:///etc/passwd", TargetError::Scheme),
            ("https://u:p@example.com/", TargetError::Credentials),
            (long.as_str(), TargetError::Length),
        ] {
            assert_eq!(ReceiverUrl::parse(bad).unwrap_err(), why, "{bad}");
        }
        assert_eq!(ReceiverUrl::parse("no"), Err(TargetError::Form));
    }
}
