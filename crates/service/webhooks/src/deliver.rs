//! One attempt to deliver a message: [`DeliveryClient::send`].
//!
//! Invariant: only the status of the receiver's response is used; its body is not read, and
//! redirects are not followed.

use error_causes::ConnectionError;
use std::sync::Arc;

use pki::ClientTls;

use crate::OpenWebhooksError;
use crate::defaults::{CONNECT_TIMEOUT, ERROR_CHARS, REQUEST_TIMEOUT};
use crate::message::DeliveryMessage;
use crate::metrics::DeliveryMetrics;
use crate::signature::SigningSecret;
use crate::target::ReceiverUrl;

/// The HTTP client for the requests of all webhooks.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryClient {
    http: reqwest::Client,
    pub(crate) metrics: Arc<DeliveryMetrics>,
}

/// The reason that a delivery failed, as text for users.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DeliveryError {
    /// The receiver responded with a status other than 2xx.
    #[error("the receiver answered {0}")]
    Status(u16),
    /// The receiver responded that it no longer exists.
    #[error("the receiver answered 410 Gone: it wants no more, and the webhook is switched off")]
    Gone,
    /// The receiver did not respond, for this reason.
    #[error("{0}")]
    Unreachable(String),
}

// === impl DeliveryClient ===

impl DeliveryClient {
    /// Creates a client that trusts the root certificates of the machine.
    pub(crate) fn new() -> Result<Self, OpenWebhooksError> {
        let http = http_client::builder(ClientTls::machine_roots()?)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .build()?;
        let metrics = Arc::default();
        Ok(Self { http, metrics })
    }

    pub(crate) async fn send(
        &self,
        target: &ReceiverUrl,
        secret: &SigningSecret,
        message: &DeliveryMessage,
    ) -> Result<(), DeliveryError> {
        let sent = self.attempt(target, secret, message).await;
        let counter = match &sent {
            Ok(()) => &self.metrics.delivered,
            Err(_) => &self.metrics.failures,
        };
        counter.inc();
        sent
    }

    async fn attempt(
        &self,
        target: &ReceiverUrl,
        secret: &SigningSecret,
        message: &DeliveryMessage,
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
        let answer = request
            .send()
            .await
            .map_err(|error| unreachable_error(&error))?;
        match answer.status().as_u16() {
            200..=299 => Ok(()),
            410 => Err(DeliveryError::Gone),
            other => Err(DeliveryError::Status(other)),
        }
    }
}

/// The cause in one line, without the URL, which may contain a secret.
fn unreachable_error(error: &reqwest::Error) -> DeliveryError {
    let text = format!(
        "the receiver cannot be reached: {}",
        ConnectionError::from_error(error)
    );
    DeliveryError::Unreachable(text.chars().take(ERROR_CHARS).collect())
}
