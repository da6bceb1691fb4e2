//! HTTP requests that notify other programs of a deployment: [`NotificationSender`].
//!
//! Invariants: no redirect is followed, since it would carry a token along; only the status of a
//! response is read; and a deployment waits no longer than [`TELL_ATTEMPTS`] attempts take.

use std::time::Duration;

use pki::TlsFiles;
use reqwest::{Client, RequestBuilder, StatusCode};
use tokio::sync::OnceCell;

use crate::defaults::{TELL_ATTEMPTS, TELL_BACKOFF, TELL_TIMEOUT};
use crate::puppetserver::with_certificate;
use code_sources::http;
use error_causes::{ConnectionError, ConnectionErrorKind, chain};

/// Sends notifications with an HTTP client that is built on first use.
#[derive(Debug, Default)]
pub struct NotificationSender {
    client: OnceCell<Client>,
    /// Client certificate and trusted authority; `None`: no client certificate, and the machine's
    /// authorities.
    tls: Option<TlsFiles>,
}

/// Reason that a notification was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotificationError {
    /// No HTTP client could be built.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
    /// The response has a status other than success.
    #[error("it answers {0}")]
    Status(StatusCode),
    /// The certificate of the peer is not valid.
    #[error("its certificate must be of {authority}: {why}")]
    Certificate {
        /// Description of the authority that must have signed it.
        authority: &'static str,
        /// Description of the fault of the certificate.
        why: String,
    },
    /// There was no response.
    #[error("{0}")]
    Unreachable(String),
}

// === impl NotificationSender ===

impl NotificationSender {
    /// A sender that authenticates with this certificate.
    pub(crate) fn with_tls(tls: TlsFiles) -> Self {
        Self {
            client: OnceCell::new(),
            tls: Some(tls),
        }
    }

    /// Sends the request once, without retries.
    pub async fn send_once(
        &self,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<(), NotificationError> {
        let client = self.client().await.map_err(NotificationError::Client)?;
        // The URL may contain a secret.
        let failed = |error: reqwest::Error| self.to_error(&error.without_url());
        let answer = request(&client).send().await.map_err(failed)?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(NotificationError::Status(status)),
        }
    }

    /// Sends the request, and retries after errors that may be temporary.
    pub async fn send(
        &self,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<(), NotificationError> {
        let mut backoff = TELL_BACKOFF;
        for _ in 1..TELL_ATTEMPTS {
            match self.send_once(&request).await {
                Err(error) if error.is_temporary() => wait_backoff(&mut backoff).await,
                told => return told,
            }
        }
        self.send_once(&request).await
    }

    fn to_error(&self, error: &reqwest::Error) -> NotificationError {
        let why = ConnectionError::from_error(error);
        if why.kind() != ConnectionErrorKind::PeerCertificate {
            return NotificationError::Unreachable(why.to_string());
        }
        NotificationError::Certificate {
            authority: match self.tls {
                Some(_) => "this server's own authority",
                None => "an authority that this machine trusts",
            },
            why: why.to_string(),
        }
    }

    async fn client(&self) -> Result<Client, String> {
        if let Some(tls) = self.tls.clone() {
            let builder = with_certificate(tls)
                .await
                .map_err(|error| chain(&*error))?;
            let client = builder.timeout(TELL_TIMEOUT).build();
            return client.map_err(|error| chain(&error));
        }
        let made = self.client.get_or_try_init(|| async {
            let builder = http::client_builder()?;
            let client = builder.timeout(TELL_TIMEOUT).build();
            client.map_err(|error| chain(&error))
        });
        made.await.cloned()
    }
}

async fn wait_backoff(backoff: &mut Duration) {
    tokio::time::sleep(*backoff).await;
    *backoff *= 2;
}

// === impl NotificationError ===

impl NotificationError {
    fn is_temporary(&self) -> bool {
        match self {
            Self::Client(_) | Self::Certificate { .. } => false,
            Self::Status(status) => {
                *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
            }
            Self::Unreachable(_) => true,
        }
    }
}
