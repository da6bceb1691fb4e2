//! One attempt to tell a receiver: [`Sender::send`].
//!
//! The rule: nothing of the receiver's answer is kept but its status; its body is not read, and
//! its redirects are not followed.

use error_causes::ConnectionError;
use std::sync::Arc;

use pki::ClientTls;

use crate::OpenError;
use crate::defaults::{CONNECT_TIMEOUT, ERROR_CHARS, REQUEST_TIMEOUT};
use crate::message::Message;
use crate::metrics::{self, Metrics};
use crate::signature::Secret;
use crate::target::Target;

/// Makes the requests of all webhooks.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    http: reqwest::Client,
    pub(crate) metrics: Arc<Metrics>,
}

/// Why the receiver did not take a message; a text for people.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// It answered something else than 2xx.
    #[error("the receiver answered {0}")]
    Status(u16),
    /// It says that it is there no more.
    #[error("the receiver answered 410 Gone: it wants no more, and the webhook is switched off")]
    Gone,
    /// It did not answer.
    #[error("{0}")]
    Unreachable(String),
}

// === impl Sender ===

impl Sender {
    /// Trusts the roots of the machine.
    pub(crate) fn new() -> Result<Self, OpenError> {
        let http = http_client::builder(ClientTls::machine_roots()?)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .build()?;
        let metrics = Arc::default();
        Ok(Self { http, metrics })
    }

    pub(crate) async fn send(
        &self,
        target: &Target,
        secret: &Secret,
        message: &Message,
    ) -> Result<(), DeliveryError> {
        let sent = self.attempt(target, secret, message).await;
        metrics::count(match &sent {
            Ok(()) => &self.metrics.delivered,
            Err(_) => &self.metrics.failures,
        });
        sent
    }

    async fn attempt(
        &self,
        target: &Target,
        secret: &Secret,
        message: &Message,
    ) -> Result<(), DeliveryError> {
        let now = jiff::Timestamp::now().as_second();
        let signature = secret.sign(&message.id, now, &message.body);
        let request = self
            .http
            .post(target.url())
            .header("content-type", "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", now.to_string())
            .header("webhook-signature", signature)
            .body(message.body.clone());
        let answer = request.send().await.map_err(|error| unreachable(&error))?;
        match answer.status().as_u16() {
            200..=299 => Ok(()),
            410 => Err(DeliveryError::Gone),
            other => Err(DeliveryError::Status(other)),
        }
    }
}

/// The cause in a line, without the URL, which may hold a secret.
fn unreachable(error: &reqwest::Error) -> DeliveryError {
    let text = format!(
        "the receiver cannot be reached: {}",
        ConnectionError::of(error)
    );
    DeliveryError::Unreachable(text.chars().take(ERROR_CHARS).collect())
}
