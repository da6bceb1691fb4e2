//! Requests that tell somebody outside of a deployment: [`NotificationSender`].
//!
//! The rules that must hold: no redirect is followed, since a token would go along; of an answer nothing is read
//! but its status; and nobody is waited for longer than [`TELL_ATTEMPTS`] attempts take.

use std::time::Duration;

use pki::TlsFiles;
use reqwest::{Client, RequestBuilder, StatusCode};
use tokio::sync::OnceCell;

use crate::defaults::{TELL_ATTEMPTS, TELL_BACKOFF, TELL_TIMEOUT};
use crate::puppetserver::with_certificate;
use code_sources::http;
use error_causes::{ConnectionError, ConnectionErrorKind, chain};

/// A client that is made when it is first needed.
#[derive(Debug, Default)]
pub struct NotificationSender {
    client: OnceCell<Client>,
    /// What is shown, and whose authority is trusted; `None`: nothing, and those of the machine.
    tls: Option<TlsFiles>,
}

/// Why somebody was not told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No client can be made.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
    /// The answer was none of success.
    #[error("it answers {0}")]
    Status(StatusCode),
    /// It is not who it should be.
    #[error("its certificate must be of {authority}: {why}")]
    Certificate {
        /// Whose word counts.
        authority: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// There was no answer.
    #[error("{0}")]
    Unreachable(String),
}

// === impl NotificationSender ===

impl NotificationSender {
    /// Shows this certificate.
    pub(crate) fn with_tls(tls: TlsFiles) -> Self {
        Self {
            client: OnceCell::new(),
            tls: Some(tls),
        }
    }

    /// Sends once, and says what became of it.
    pub async fn once(&self, request: impl Fn(&Client) -> RequestBuilder) -> Result<(), SendError> {
        let client = self.client().await.map_err(SendError::Client)?;
        // The address may have a secret in it.
        let failed = |error: reqwest::Error| self.failed(&error.without_url());
        let answer = request(&client).send().await.map_err(failed)?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(SendError::Status(status)),
        }
    }

    /// Sends, and again where that may help.
    pub async fn send(&self, request: impl Fn(&Client) -> RequestBuilder) -> Result<(), SendError> {
        let mut backoff = TELL_BACKOFF;
        for _ in 1..TELL_ATTEMPTS {
            match self.once(&request).await {
                Err(error) if error.is_passing() => pause(&mut backoff).await,
                told => return told,
            }
        }
        self.once(&request).await
    }

    fn failed(&self, error: &reqwest::Error) -> SendError {
        let why = ConnectionError::of(error);
        if why.kind() != ConnectionErrorKind::PeerCertificate {
            return SendError::Unreachable(why.to_string());
        }
        SendError::Certificate {
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
            let builder = http::builder()?;
            let client = builder.timeout(TELL_TIMEOUT).build();
            client.map_err(|error| chain(&error))
        });
        made.await.cloned()
    }
}

async fn pause(backoff: &mut Duration) {
    tokio::time::sleep(*backoff).await;
    *backoff *= 2;
}

// === impl SendError ===

impl SendError {
    fn is_passing(&self) -> bool {
        match self {
            Self::Client(_) | Self::Certificate { .. } => false,
            Self::Status(status) => {
                *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
            }
            Self::Unreachable(_) => true,
        }
    }
}
