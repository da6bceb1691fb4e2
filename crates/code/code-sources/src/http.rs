//! HTTP requests to a Forge and for archives: [`HttpClient`].
//!
//! Invariants: an answer is limited in size and time; a transient failure (429, 5xx, a broken
//! connection) is retried a few times; a token is sent only to the host that it is for.

use std::io;
use std::time::Duration;

use pki::ClientTls;
use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{OnceCell, Semaphore};

use crate::defaults::{
    HTTP_ATTEMPTS, HTTP_BACKOFF, HTTP_CONNECT_TIMEOUT, HTTP_FETCHES, HTTP_READ_TIMEOUT,
    HTTP_RETRY_AFTER, HTTP_TIMEOUT,
};
use crate::remote_address::strip_credentials;

/// An HTTP client, created on first use: its trusted roots take a while to load.
#[derive(Debug)]
pub(crate) struct HttpClient {
    client: OnceCell<Client>,
    proxy: Option<String>,
    request_permits: Semaphore,
}

/// A request and its credentials.
#[derive(Debug, Clone)]
pub struct HttpRequest<'a> {
    pub url: &'a Url,
    pub token: Option<&'a SecretString>,
    pub most_bytes: u64,
}

/// The error of a request.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The client cannot be created.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
    /// The server refused the request.
    #[error("{url} answered {status}{said}")]
    Status {
        /// URL of the request.
        url: String,
        /// Status of the answer.
        status: StatusCode,
        /// The server's message, if it sent one.
        said: String,
    },
    /// There was no answer, or an incomplete one.
    #[error("{url} cannot be read: {why}")]
    Unreachable {
        /// URL of the request.
        url: String,
        /// The chain of causes.
        why: String,
    },
    /// The answer is longer than the limit.
    #[error("{url} has more than {most_bytes} bytes")]
    TooLarge {
        /// URL of the request.
        url: String,
        /// The limit in bytes.
        most_bytes: u64,
    },
    /// The answer cannot be written to the disk.
    #[error("what {url} answers cannot be written")]
    Write {
        /// URL of the request.
        url: String,
        /// The error of the write.
        source: std::io::Error,
    },
}

/// Most bytes of an error answer that are read.
const SAID_BYTES: usize = 4_096;
/// Most characters of it that are shown.
const MESSAGE_CHARS: usize = 200;

// === impl HttpClient ===

impl HttpClient {
    /// A client through `proxy`, such as `http://proxy:3128`; empty: none; `None`: as in the
    /// environment.
    pub(crate) fn new(proxy: Option<String>) -> Self {
        Self {
            client: OnceCell::new(),
            proxy,
            request_permits: Semaphore::new(HTTP_FETCHES),
        }
    }

    /// Sends a request and receives its whole answer.
    pub(crate) async fn get(
        &self,
        wish: HttpRequest<'_>,
        sink: &mut (impl ResponseSink + Send),
    ) -> Result<(), HttpError> {
        // The semaphore is never closed.
        let _place = self.request_permits.acquire().await.ok();
        let mut backoff = HTTP_BACKOFF;
        let mut attempt = 1;
        loop {
            let (error, wait) = match self.send_once(&wish, sink).await {
                Ok(()) => return Ok(()),
                Err((error, RetryDecision::Stop)) => return Err(error),
                Err((error, RetryDecision::RetryAfter(wait))) => (error, wait),
            };
            if attempt == HTTP_ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
            let wait = wait.unwrap_or(backoff).min(HTTP_RETRY_AFTER);
            tracing::info!(%error, ?wait, "it is asked once more");
            tokio::time::sleep(wait).await;
            backoff *= 2;
        }
    }

    async fn client(&self) -> Result<&Client, HttpError> {
        let made = self
            .client
            .get_or_try_init(|| async { client(self.proxy.as_deref()) });
        made.await.map_err(HttpError::Client)
    }

    async fn send_once(
        &self,
        wish: &HttpRequest<'_>,
        sink: &mut (impl ResponseSink + Send),
    ) -> Result<(), (HttpError, RetryDecision)> {
        let never = |error| (error, RetryDecision::Stop);
        let url = strip_credentials(wish.url.as_str());
        let mut request = self.client().await.map_err(never)?.get(wish.url.clone());
        if let Some(token) = wish.token {
            let value = HeaderValue::from_str(token.expose_secret());
            let mut value =
                value.map_err(|_| never(HttpError::Client("the token is no header".to_owned())))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let broken = |error: reqwest::Error| {
            let why = error_causes::chain(&error.without_url());
            let url = url.clone();
            (
                HttpError::Unreachable { url, why },
                RetryDecision::RetryAfter(None),
            )
        };
        let mut answer = request.send().await.map_err(broken)?;
        if !answer.status().is_success() {
            return Err(read_refusal(url, answer).await);
        }
        let written = |source| {
            let url = url.clone();
            (HttpError::Write { url, source }, RetryDecision::Stop)
        };
        sink.restart().map_err(written)?;
        let mut left = wish.most_bytes;
        while let Some(chunk) = answer.chunk().await.map_err(broken)? {
            left = left.checked_sub(chunk.len() as u64).ok_or_else(|| {
                never(HttpError::TooLarge {
                    url: url.clone(),
                    most_bytes: wish.most_bytes,
                })
            })?;
            sink.add(&chunk).map_err(written)?;
        }
        Ok(())
    }
}

/// The decision on a retry, and its delay.
enum RetryDecision {
    Stop,
    RetryAfter(Option<Duration>),
}

/// The receiver of an answer, which may start again from the beginning.
pub(crate) trait ResponseSink {
    /// Discards the bytes received before.
    fn restart(&mut self) -> io::Result<()>;
    /// Appends the next bytes.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl ResponseSink for Vec<u8> {
    fn restart(&mut self) -> io::Result<()> {
        self.clear();
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

async fn read_refusal(url: String, mut answer: Response) -> (HttpError, RetryDecision) {
    let status = answer.status();
    let is_passing = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let after = answer.headers().get(RETRY_AFTER);
    let after = after.and_then(|after| after.to_str().ok()?.parse().ok());
    let again = match is_passing {
        true => RetryDecision::RetryAfter(after.map(Duration::from_secs)),
        false => RetryDecision::Stop,
    };
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > SAID_BYTES {
            break;
        }
    }
    let said = describe_body(&body);
    (HttpError::Status { url, status, said }, again)
}

/// `message` and `errors` of an answer of a Forge or of GitHub, in one line.
pub(crate) fn describe_body(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<serde_json::Value>(body) else {
        return String::new();
    };
    let errors = body["errors"].as_array().into_iter().flatten();
    let texts = std::iter::once(&body["message"]).chain(errors);
    let texts: Vec<&str> = texts.filter_map(|text| text.as_str()).collect();
    let text: String = texts.join("; ").chars().take(MESSAGE_CHARS).collect();
    match text.is_empty() {
        true => text,
        false => format!(": {text}"),
    }
}

/// A builder of a client that trusts the CAs of the machine and follows no redirect.
pub fn client_builder() -> Result<ClientBuilder, String> {
    let tls = ClientTls::machine_roots().map_err(|error| error.to_string())?;
    Ok(http_client::builder_with_system_proxy(tls).connect_timeout(HTTP_CONNECT_TIMEOUT))
}

fn client(proxy: Option<&str>) -> Result<Client, String> {
    let builder = client_builder()?
        .redirect(Policy::default())
        .read_timeout(HTTP_READ_TIMEOUT)
        .timeout(HTTP_TIMEOUT);
    let client = proxied(builder, proxy)?.build();
    client.map_err(|error| error_causes::chain(&error))
}

/// Sets the proxy of a client; empty: none; `None`: as in the environment.
pub(crate) fn proxied(
    builder: ClientBuilder,
    proxy: Option<&str>,
) -> Result<ClientBuilder, String> {
    let Some(proxy) = proxy else {
        return Ok(builder);
    };
    if proxy.is_empty() {
        return Ok(builder.no_proxy());
    }
    let proxy =
        Proxy::all(proxy).map_err(|_| format!("{:?} is no proxy", strip_credentials(proxy)))?;
    Ok(builder.proxy(proxy.no_proxy(NoProxy::from_env())))
}
