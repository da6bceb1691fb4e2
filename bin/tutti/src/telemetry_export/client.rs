//! The HTTP client by which traces are sent: [`Client`].
//!
//! The rule: every request has a deadline, and of an answer no more than [`ANSWER_BYTES`] is read.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::runtime::Handle;

/// OpenTelemetry's own limit for one export.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// An answer is empty or a short message.
const ANSWER_BYTES: usize = 64 * 1024;

/// Sends within the runtime that it was made in, whoever asks: batches leave from a thread that
/// has none.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    runtime: Handle,
}

/// More than an answer to an export has.
#[derive(Debug, thiserror::Error)]
#[error("the collector answered more than {ANSWER_BYTES} bytes")]
struct LongAnswer;

// === impl Client ===

impl Client {
    /// Trusts the roots of the machine.
    pub(super) fn new() -> anyhow::Result<Self> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(REQUEST_TIMEOUT)
            .user_agent(concat!("tutti/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self {
            http,
            runtime: Handle::current(),
        })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        self.runtime.spawn(send(http, request)).await?
    }
}

async fn send(
    http: reqwest::Client,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let mut answer = http.execute(request.try_into()?).await?;
    let mut body = BytesMut::new();
    while let Some(piece) = answer.chunk().await? {
        if body.len() + piece.len() > ANSWER_BYTES {
            return Err(LongAnswer.into());
        }
        body.extend_from_slice(&piece);
    }
    let mut response = Response::new(body.freeze());
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}
