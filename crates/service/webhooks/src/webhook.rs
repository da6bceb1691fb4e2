//! Checks of requests to create and change webhooks, with their error [`InvalidWebhook`], and stored
//! webhooks in the form of the API.

use api_types::{NewWebhook, Timestamp, Webhook, WebhookEdit};
use secrecy::{ExposeSecret as _, SecretString};
use store::WebhookRow;

use crate::defaults::{DESCRIPTION_CHARS, EVENT_TYPES};
use crate::signature::{SigningSecret, SigningSecretError};
use crate::target::{ReceiverUrl, TargetError};
use crate::template::{MessageTemplate, TemplateError};

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
pub(crate) const TYPES: &[&str] = &[
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

/// The checked parts of a request to create a webhook, in the forms in which they are used.
pub(crate) fn check_new(
    new: &mut NewWebhook,
) -> Result<(ReceiverUrl, MessageTemplate, SigningSecret), InvalidWebhook> {
    // The text is wiped from memory, also if another part is refused.
    let secret = new.secret.take().map(SecretString::from);
    let template = match &new.template {
        Some(name) => name.parse()?,
        None => MessageTemplate::default(),
    };
    let target = ReceiverUrl::parse(&new.url)?;
    check_events(&new.events)?;
    check_description(&new.description)?;
    let secret = match secret {
        Some(text) => SigningSecret::parse(text.expose_secret())?,
        None => SigningSecret::random()?,
    };
    Ok((target, template, secret))
}

/// Checks the keys that a request to change a webhook gives.
pub(crate) fn check_edit(edit: &WebhookEdit) -> Result<(), InvalidWebhook> {
    if let Some(name) = &edit.template {
        name.parse::<MessageTemplate>()?;
    }
    if let Some(url) = &edit.url {
        ReceiverUrl::parse(url)?;
    }
    check_events(edit.events.as_deref().unwrap_or_default())?;
    check_description(edit.description.as_deref().unwrap_or_default())
}

/// The webhook in a row; `None` if this server cannot have written the row.
pub(crate) fn from_row(row: WebhookRow) -> Option<Webhook> {
    let template: MessageTemplate = row.template.parse().ok()?;
    Some(Webhook {
        id: row.id,
        url: row.url,
        events: serde_json::from_str(&row.events).ok()?,
        template: template.to_string(),
        description: row.description,
        enabled: row.is_enabled,
        created_by: row.created_by,
        created_timestamp: Timestamp::from_ms(row.created_ms),
        delivered: row.delivered,
        given_up: row.given_up,
        failing_since: row.failing_ms.map(Timestamp::from_ms),
        last_error: row.last_error,
    })
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
