//! Where a webhook goes: [`Target`], a URL that was looked at once, at the edge.
//!
//! The rule: `https` everywhere, `http` to this machine only; no user and password in it (they
//! would stand in lists and logs); redirects are never followed, so what was checked is what is
//! called.

use reqwest::Url;

use crate::defaults::URL_BYTES;

/// A URL that may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(Url);

/// Why a text may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not a URL.
    #[error("not a URL; write one such as https://ci.example.com/hook")]
    Form,
    /// Neither https, nor http on this machine.
    #[error("the URL must begin with https:// (http:// only for localhost)")]
    Scheme,
    /// User or password in it.
    #[error("the URL must not carry a user or a password; messages are signed instead")]
    Credentials,
    /// Too long.
    #[error("the URL has more than {URL_BYTES} bytes")]
    Length,
}

// === impl Target ===

impl Target {
    /// Reads and checks.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
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

    /// The URL.
    pub fn as_str(&self) -> &str {
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
            assert!(Target::parse(good).is_ok(), "{good}");
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
            assert_eq!(Target::parse(bad).unwrap_err(), why, "{bad}");
        }
        assert_eq!(Target::parse("no"), Err(TargetError::Form));
    }
}
