//! The HTTP client that sends traces: [`OtlpHttpClient`].
//!
//! Invariant: every request has a deadline, and at most [`ANSWER_BYTES`] of an answer are read.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use pki::ClientTls;
use tokio::runtime::Handle;

/// OpenTelemetry's own limit for one export.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of an answer, which is empty or a short message.
const ANSWER_BYTES: usize = 64 * 1024;

/// Sends within the runtime in which it was created, from any thread: batches are sent by a thread
/// without a runtime.
#[derive(Debug)]
pub(super) struct OtlpHttpClient {
    http: reqwest::Client,
    runtime: Handle,
}

// === impl OtlpHttpClient ===

impl OtlpHttpClient {
    /// Creates a client that trusts the roots of the machine.
    pub(super) fn new() -> anyhow::Result<Self> {
        let http = http_client::builder(ClientTls::machine_roots()?)
            .timeout(REQUEST_TIMEOUT)
            .build()?;
        Ok(Self {
            http,
            runtime: Handle::current(),
        })
    }
}

#[async_trait]
impl HttpClient for OtlpHttpClient {
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
    let body = http_client::read_body(&mut answer, ANSWER_BYTES).await?;
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}
