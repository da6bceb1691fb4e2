//! Outgoing webhooks: `/tutti/v1/webhooks`, an extension of Tutti.
//!
//! Invariant: the signing key is shown once, in the reply to the request that created it.

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Timestamp, strict};

/// Body of `POST webhooks`. `Debug` omits the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// URL of the receiver: `https`, or `http` on the server's own machine.
    #[schema(example = "https://ci.example.com/tutti")]
    pub url: String,
    /// Event types to send; empty or absent: all.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<Vec<String>>)]
    pub events: Vec<String>,
    /// Format of the messages: `json` (the event, for programs), or that of a chat tool: `slack`,
    /// `teams`, `mattermost`, `rocketchat`, `discord` or `matrix`; absent: `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Signing key, `whsec_` followed by Base64; absent: the server generates one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub secret: Option<String>,
}

/// Body of `PUT webhooks/{id}`: each given key replaces the old value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEdit {
    /// URL of the receiver; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Event types to send; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Format of the messages; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Free text shown in lists; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// False to stop sending events; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Generate a new signing key; the reply shows it.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub renew_secret: bool,
}

/// An outgoing webhook with its delivery statistics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// UUID of the webhook.
    pub id: String,
    /// URL of the receiver.
    pub url: String,
    /// Event types that are sent; empty: all of jobs and plans.
    pub events: Vec<String>,
    /// Format of the messages: `json`, `slack`, …
    #[serde(default)]
    pub template: String,
    /// Free text shown in lists and logs; may be empty.
    pub description: String,
    /// True if events are sent.
    pub enabled: bool,
    /// Login of the user who created the webhook.
    pub created_by: String,
    /// Time at which the webhook was created.
    pub created_timestamp: Timestamp,
    /// Number of events that the receiver accepted.
    pub delivered: i64,
    /// Number of events that were given up, after retries for 24 hours.
    pub given_up: i64,
    /// Time since which deliveries fail; null if the last one succeeded.
    pub failing_since: Option<Timestamp>,
    /// Cause of the last failure; null if the last delivery succeeded.
    pub last_error: Option<String>,
}

/// A webhook with its signing key. `Debug` omits the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookWithSecret {
    /// The webhook without its key.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Signing key if it is new; it is not shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub secret: Option<String>,
}

/// Reply to `GET webhooks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// All webhooks, oldest first.
    pub items: Vec<Webhook>,
}

/// Reply to `POST webhooks/{id}/test`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookTest {
    /// True if the receiver accepted the message.
    pub delivered: bool,
    /// Body of the message, in the webhook's format.
    #[serde(default)]
    pub body: String,
    /// Cause of the failure; absent if the message was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

partial_debug!(NewWebhook { url, events });

partial_debug!(WebhookWithSecret { webhook });
