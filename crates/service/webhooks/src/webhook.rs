//! Webhooks in the form for callers: [`RegisteredWebhook`], with the requests to create and change
//! them.

use secrecy::ExposeSecret as _;
use store::WebhookRow;
use uuid::Uuid;

use crate::defaults::{DESCRIPTION_CHARS, EVENT_TYPES};
use crate::signature::{SigningSecret, SigningSecretError};
use crate::target::{ReceiverUrl, TargetError};
use crate::template::{MessageTemplate, TemplateError};

/// A request to create a webhook.
#[derive(Clone, Debug)]
pub struct WebhookCreateRequest {
    /// URL of the receiver.
    pub url: String,
    /// Types of events to send; empty for all of jobs and plans.
    pub events: Vec<String>,
    /// Template of the messages.
    pub template: MessageTemplate,
    /// Free text shown to users.
    pub description: String,
    /// Key that signs the messages; `None` to generate one.
    pub secret: Option<secrecy::SecretString>,
    /// Login of the user who creates the webhook.
    pub created_by: String,
}

/// A request to change a webhook; `None` keeps the current value.
#[derive(Clone, Debug, Default)]
pub struct WebhookChangeRequest {
    /// The new URL of the receiver.
    pub url: Option<String>,
    /// The new types of events; empty for all of jobs and plans.
    pub events: Option<Vec<String>>,
    /// The new template of the messages.
    pub template: Option<MessageTemplate>,
    /// The new description, shown to users.
    pub description: Option<String>,
    /// `false` stops all messages. A webhook that is enabled again starts with the events from
    /// then on.
    pub is_enabled: Option<bool>,
    /// `true` to generate a new key.
    pub renew_secret: bool,
}

/// A webhook with its current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredWebhook {
    /// Id of the webhook.
    pub id: Uuid,
    /// URL of the receiver.
    pub url: String,
    /// Types of events to send; empty for all of jobs and plans.
    pub events: Vec<String>,
    /// Template of the messages.
    pub template: MessageTemplate,
    /// Free text shown to users.
    pub description: String,
    /// `true` if messages are sent.
    pub is_enabled: bool,
    /// Login of the user who created the webhook.
    pub created_by: String,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: i64,
    /// Number of events that the receiver accepted.
    pub delivered: i64,
    /// Number of events that were given up after [`crate::defaults::GIVE_UP`].
    pub given_up: i64,
    /// Start of the current series of failures, in milliseconds since 1970; `None` without
    /// failures.
    pub failing_ms: Option<i64>,
    /// Text of the last error; `None` without one.
    pub last_error: Option<String>,
}

/// The requested webhook is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidWebhook {
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] TargetError),
    /// The secret is invalid.
    #[error(transparent)]
    Secret(#[from] SigningSecretError),
    /// The filter has an unknown type of event.
    #[error("there are no events of type {event:?}; there are {}", TYPES.join(", "))]
    Events {
        /// The unknown type, truncated.
        event: String,
    },
    /// The filter has too many types; the value is their number.
    #[error("at most {EVENT_TYPES} types of events may be named, not {0}")]
    ManyEvents(usize),
    /// The template is unknown.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The description is too long.
    #[error("the description has more than {DESCRIPTION_CHARS} characters")]
    Description,
}

/// All types of events that filters can name.
pub const TYPES: &[&str] = &[
    "node_running",
    "node_finished",
    "node_failed",
    "node_errored",
    "node_skipped",
    "leases_awaited",
    "leases_taken",
    "nodes_quarantined",
    "batch_started",
    "batch_finished",
    "rollout_halted",
    "job_stopping",
    "job_aborted",
    "job_finished",
    "prompt",
    "plan_finished",
    "plan_failed",
    "puppet_run_changed",
    "puppet_run_unchanged",
    "puppet_run_failed",
];

/// Begin of the types of events of Puppet runs. Only webhooks that name them get them: ten thousand
/// nodes with a run each half hour have six a second.
const PUPPET_RUN: &str = "puppet_run_";

/// True if events of this type are sent to a webhook with this filter.
pub(crate) fn is_subscribed(events: &[String], kind: &str) -> bool {
    let is_named = events.iter().any(|event| event == kind);
    is_named || (events.is_empty() && !kind.starts_with(PUPPET_RUN))
}

/// True if events of Puppet runs are sent to a webhook with this filter.
pub(crate) fn names_puppet_runs(events: &[String]) -> bool {
    events.iter().any(|event| event.starts_with(PUPPET_RUN))
}

// === impl WebhookCreateRequest ===

impl WebhookCreateRequest {
    pub(crate) fn check(&self) -> Result<(ReceiverUrl, SigningSecret), InvalidWebhook> {
        let target = ReceiverUrl::parse(&self.url)?;
        check_events(&self.events)?;
        check_description(&self.description)?;
        let secret = match &self.secret {
            Some(text) => SigningSecret::parse(text.expose_secret())?,
            None => SigningSecret::random()?,
        };
        Ok((target, secret))
    }
}

// === impl WebhookChangeRequest ===

impl WebhookChangeRequest {
    pub(crate) fn check(&self) -> Result<(), InvalidWebhook> {
        if let Some(url) = &self.url {
            ReceiverUrl::parse(url)?;
        }
        check_events(self.events.as_deref().unwrap_or_default())?;
        check_description(self.description.as_deref().unwrap_or_default())
    }
}

// === impl RegisteredWebhook ===

impl RegisteredWebhook {
    /// The webhook in a row; `None` if this server cannot have written the row.
    pub(crate) fn from_row(row: WebhookRow) -> Option<Self> {
        Some(Self {
            id: row.id.parse().ok()?,
            url: row.url,
            events: serde_json::from_str(&row.events).ok()?,
            template: row.template.parse().ok()?,
            description: row.description,
            is_enabled: row.is_enabled,
            created_by: row.created_by,
            created_ms: row.created_ms,
            delivered: row.delivered,
            given_up: row.given_up,
            failing_ms: row.failing_ms,
            last_error: row.last_error,
        })
    }
}

fn check_events(events: &[String]) -> Result<(), InvalidWebhook> {
    if events.len() > EVENT_TYPES {
        return Err(InvalidWebhook::ManyEvents(events.len()));
    }
    match events.iter().find(|event| !TYPES.contains(&event.as_str())) {
        Some(unknown) => Err(InvalidWebhook::Events {
            event: unknown.chars().take(100).collect(),
        }),
        None => Ok(()),
    }
}

fn check_description(text: &str) -> Result<(), InvalidWebhook> {
    if text.chars().count() > DESCRIPTION_CHARS {
        return Err(InvalidWebhook::Description);
    }
    Ok(())
}
