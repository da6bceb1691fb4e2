//! Client of Puppet's CA API: the five requests of a new node, and the later one for a newer
//! revocation list.
//!
//! Invariant: answers are bounded in size and time, and redirects are not followed, because the CA
//! is the only host that the node has a reason to trust.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http_client::BodyError;
use pcp::Certname;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderValue, IF_MODIFIED_SINCE, LAST_MODIFIED};
use reqwest::{Response, StatusCode};

use error_causes::{ConnectionError, ConnectionErrorKind};

use crate::{authority, defaults};

/// Address of the CA: `HOST[:PORT]` or `https://HOST[:PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaUri(String);

/// A request that got no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum CaFetchError {
    /// The request got no answer.
    #[error("no answer from the CA")]
    Transport(#[from] reqwest::Error),
    /// The answer has an unexpected status.
    #[error("the CA answered with HTTP status {status}: {text}")]
    Status {
        /// HTTP status of the answer.
        status: StatusCode,
        /// Beginning of the body.
        text: String,
    },
    /// The answer is longer than this limit in bytes.
    #[error("the CA's answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The answer is not text.
    #[error("the CA's answer is not text")]
    NotText,
}

/// Result of submitting a certificate request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SubmitResult {
    Accepted,
    /// The CA already has this request, or a certificate for the name.
    KnownAlready,
    Refused(String),
}

/// A revocation list with its modification time.
#[derive(Debug)]
pub(crate) struct RevocationList {
    pub(crate) pem: String,
    /// Modification time by the CA's clock, for `If-Modified-Since`.
    pub(crate) modified: Option<HeaderValue>,
}

/// Client of one CA.
#[derive(Debug)]
pub(crate) struct CaClient {
    http: reqwest::Client,
    base: String,
}

// === impl CaUri ===

impl fmt::Display for CaUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CaUri {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("'{text}' is not of the form HOST[:PORT]");
        let rest = text
            .strip_prefix("https://")
            .unwrap_or(text)
            .trim_end_matches('/');
        let (host, port) = authority::parse(rest).ok_or_else(form)?;
        Ok(Self(authority::format(
            &host,
            port.unwrap_or(defaults::PUPPET_PORT),
        )))
    }
}

// === impl CaFetchError ===

impl CaFetchError {
    /// True if the TLS handshake failed because one side does not accept the other.
    pub(super) fn is_tls_error(&self) -> bool {
        use ConnectionErrorKind::{OwnCertificate, PeerCertificate, Tls};
        let Self::Transport(error) = self else {
            return false;
        };
        let kind = ConnectionError::from_error(error).kind();
        matches!(kind, PeerCertificate | OwnCertificate | Tls)
    }

    /// True if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            // A certificate that does not verify will not verify later.
            Self::Transport(_) => !self.is_tls_error(),
            Self::Status { status, .. } => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::TooLarge(_) | Self::NotText => false,
        }
    }
}

// === impl CaClient ===

impl CaClient {
    pub(crate) fn new(
        server: &CaUri,
        tls: Arc<rustls::ClientConfig>,
    ) -> Result<Self, CaFetchError> {
        let http = http_client::builder(tls)
            .connect_timeout(defaults::CA_CONNECT_TIMEOUT)
            .timeout(defaults::CA_REQUEST_TIMEOUT)
            .build()?;
        Ok(Self {
            http,
            base: format!("https://{server}/puppet-ca/v1"),
        })
    }

    pub(super) async fn ca_certificate(&self) -> Result<String, CaFetchError> {
        self.get("certificate/ca").await?.ok_or_else(not_found)
    }

    pub(super) async fn revocation_list(&self) -> Result<String, CaFetchError> {
        self.get("certificate_revocation_list/ca")
            .await?
            .ok_or_else(not_found)
    }

    /// The list, unless the CA reports that it is unchanged since `since`.
    pub(crate) async fn newer_revocation_list(
        &self,
        since: Option<&HeaderValue>,
    ) -> Result<Option<RevocationList>, CaFetchError> {
        let url = format!("{}/certificate_revocation_list/ca", self.base);
        let mut request = self.http.get(url);
        if let Some(since) = since {
            request = request.header(IF_MODIFIED_SINCE, since);
        }
        let answer = request.send().await?;
        let status = answer.status();
        if status == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let headers = answer.headers();
        // puppetserver sends only the time of its answer.
        let modified = headers.get(LAST_MODIFIED).or_else(|| headers.get(DATE));
        let modified = modified.cloned();
        let pem = body(answer).await?;
        if status.is_success() {
            return Ok(Some(RevocationList { pem, modified }));
        }
        Err(CaFetchError::Status {
            status,
            text: clip(&pem),
        })
    }

    /// Fetches the certificate; `None` while it is not signed.
    pub(super) async fn certificate(
        &self,
        certname: &Certname,
    ) -> Result<Option<String>, CaFetchError> {
        self.get(&format!("certificate/{}", escape_path(certname)))
            .await
    }

    pub(super) async fn submit_request(
        &self,
        certname: &Certname,
        request: &str,
    ) -> Result<SubmitResult, CaFetchError> {
        let url = format!(
            "{}/certificate_request/{}",
            self.base,
            escape_path(certname)
        );
        let answer = self
            .http
            .put(url)
            .header(CONTENT_TYPE, "text/plain")
            .body(request.to_owned())
            .send()
            .await?;
        let status = answer.status();
        let text = body(answer).await?;
        if status.is_success() {
            return Ok(SubmitResult::Accepted);
        }
        match status {
            // puppetserver: "<name> already has a requested certificate; ignoring
            // certificate request", "… already has a signed certificate …".
            StatusCode::BAD_REQUEST if text.contains("already has a") => {
                Ok(SubmitResult::KnownAlready)
            }
            StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN | StatusCode::CONFLICT => {
                Ok(SubmitResult::Refused(clip(&text)))
            }
            _ => Err(CaFetchError::Status {
                status,
                text: clip(&text),
            }),
        }
    }

    async fn get(&self, path: &str) -> Result<Option<String>, CaFetchError> {
        let answer = self
            .http
            .get(format!("{}/{path}", self.base))
            .send()
            .await?;
        let status = answer.status();
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let text = body(answer).await?;
        if status.is_success() {
            return Ok(Some(text));
        }
        Err(CaFetchError::Status {
            status,
            text: clip(&text),
        })
    }
}

async fn body(mut answer: Response) -> Result<String, CaFetchError> {
    let body = http_client::read_body(&mut answer, defaults::MAX_CA_ANSWER_BYTES).await;
    let bytes = body.map_err(|error| match error {
        BodyError::TooLarge(limit) => CaFetchError::TooLarge(limit),
        BodyError::Broken(error) => CaFetchError::Transport(error),
    })?;
    String::from_utf8(bytes).map_err(|_| CaFetchError::NotText)
}

fn not_found() -> CaFetchError {
    CaFetchError::Status {
        status: StatusCode::NOT_FOUND,
        text: "no CA is served there".to_owned(),
    }
}

/// Percent-encodes a certname for a path: it may contain characters other than ASCII.
fn escape_path(certname: &Certname) -> String {
    let mut out = String::new();
    for byte in certname.as_ref().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            use fmt::Write;
            write!(out, "%{byte:02X}").expect("a String takes everything");
        }
    }
    out
}

fn clip(text: &str) -> String {
    text.trim().chars().take(300).collect()
}
