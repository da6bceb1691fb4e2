//! The HTTP client by which traces are sent: [`Client`].
//!
//! The rule: every request has a deadline, and of an answer no more than [`ANSWER_BYTES`] is read.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use pki::ClientTls;
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

// === impl Client ===

impl Client {
    /// Trusts the roots of the machine.
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
    let body = http_client::read_body(&mut answer, ANSWER_BYTES).await?;
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}
