//! Webhooks: `/tutti/v1/webhooks`, which no Puppet product has.
//!
//! The rule: the key that signs is shown once, in the reply to who makes it.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Timestamp, strict};

/// `POST webhooks`. Its `Debug` leaves the key out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Where to; `https`.
    #[schema(example = "https://ci.example.com/tutti")]
    pub url: String,
    /// Types of events; empty or absent: all.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<Vec<String>>)]
    pub events: Vec<String>,
    /// The form of messages: `json` (the event, for programs), or that of a chat tool: `slack`, `teams`,
    /// `mattermost`, `rocketchat`, `discord` or `matrix`; absent: `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// `whsec_` and base64; absent: the server makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub secret: Option<String>,
}

/// `PUT webhooks/{id}`: each key that is given replaces what was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEdit {
    /// Where to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Types of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// The form of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether anything is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Make a new key; the reply shows it.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub renew_secret: bool,
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// A UUID.
    pub id: String,
    /// Where to.
    pub url: String,
    /// Types of events; empty: all.
    pub events: Vec<String>,
    /// The form of messages.
    #[serde(default)]
    pub template: String,
    /// Free text.
    pub description: String,
    /// Whether anything is sent.
    pub enabled: bool,
    /// The login of who made it.
    pub created_by: String,
    /// When.
    pub created_timestamp: Timestamp,
    /// Events that the receiver took.
    pub delivered: i64,
    /// Events that were given up.
    pub given_up: i64,
    /// Since when attempts fail; null: the last one went well.
    pub failing_since: Option<Timestamp>,
    /// Why.
    pub last_error: Option<String>,
}

/// A webhook and its key. Its `Debug` leaves the key out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookWithSecret {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// The key, when it is new; it is not shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub secret: Option<String>,
}

/// `GET webhooks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// Oldest first.
    pub items: Vec<Webhook>,
}

/// `POST webhooks/{id}/test`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookTest {
    /// Whether the receiver took the message.
    pub delivered: bool,
    /// The body that was sent, in the webhook's template.
    #[serde(default)]
    pub body: String,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl fmt::Debug for NewWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewWebhook")
            .field("url", &self.url)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WebhookWithSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookWithSecret")
            .field("webhook", &self.webhook)
            .finish_non_exhaustive()
    }
}
