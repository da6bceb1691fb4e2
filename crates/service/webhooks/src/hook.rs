//! A webhook as callers see it: [`Hook`], and what may be asked of it.

use secrecy::ExposeSecret as _;
use store::WebhookRow;
use uuid::Uuid;

use crate::defaults::{DESCRIPTION_CHARS, EVENT_TYPES};
use crate::signature::{Secret, SecretError};
use crate::target::{Target, TargetError};
use crate::template::{Template, TemplateError};

/// A webhook to be made.
#[derive(Clone, Debug)]
pub struct NewHook {
    /// Where to.
    pub url: String,
    /// Types of events; empty: all.
    pub events: Vec<String>,
    /// The form of messages.
    pub template: Template,
    /// For people.
    pub description: String,
    /// The key that signs; `None`: one is made.
    pub secret: Option<secrecy::SecretString>,
    /// The login of who makes it.
    pub created_by: String,
}

/// What may change; `None` keeps what is there.
#[derive(Clone, Debug, Default)]
pub struct HookChange {
    /// Where to.
    pub url: Option<String>,
    /// Types of events.
    pub events: Option<Vec<String>>,
    /// The form of messages.
    pub template: Option<Template>,
    /// For people.
    pub description: Option<String>,
    /// Whether anything is sent. Switched on again, it begins with what happens then.
    pub is_enabled: Option<bool>,
    /// Make a new key.
    pub renew_secret: bool,
}

/// A webhook as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its id.
    pub id: Uuid,
    /// Where to.
    pub url: String,
    /// Types of events; empty: all.
    pub events: Vec<String>,
    /// The form of messages.
    pub template: Template,
    /// For people.
    pub description: String,
    /// Whether anything is sent.
    pub is_enabled: bool,
    /// The login of who made it.
    pub created_by: String,
    /// When, in milliseconds since the epoch.
    pub created_ms: i64,
    /// Events that the receiver took.
    pub delivered: i64,
    /// Events that were given up after [`crate::defaults::GIVE_UP`].
    pub given_up: i64,
    /// Since when attempts fail, in milliseconds since the epoch.
    pub failing_ms: Option<i64>,
    /// Why.
    pub last_error: Option<String>,
}

/// What is wrong with a webhook that is asked for.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The URL.
    #[error(transparent)]
    Url(#[from] TargetError),
    /// The secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The filter.
    #[error("there are no events of type {event:?}; there are {}", TYPES.join(", "))]
    Events {
        /// As much of the type as is worth repeating.
        event: String,
    },
    /// The length of the filter.
    #[error("at most {EVENT_TYPES} types of events may be named, not {0}")]
    ManyEvents(usize),
    /// The template.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The description.
    #[error("the description has more than {DESCRIPTION_CHARS} characters")]
    Description,
}

/// The types of events that there are, for filters.
pub const TYPES: &[&str] = &[
    "node_running",
    "node_finished",
    "node_failed",
    "node_errored",
    "node_skipped",
    "batch_started",
    "batch_finished",
    "rollout_halted",
    "job_stopping",
    "job_aborted",
    "job_finished",
    "prompt",
    "plan_finished",
    "plan_failed",
];

// === impl NewHook ===

impl NewHook {
    pub(crate) fn check(&self) -> Result<(Target, Secret), HookError> {
        let target = Target::parse(&self.url)?;
        check_events(&self.events)?;
        check_description(&self.description)?;
        let secret = match &self.secret {
            Some(text) => Secret::parse(text.expose_secret())?,
            None => Secret::random()?,
        };
        Ok((target, secret))
    }
}

// === impl HookChange ===

impl HookChange {
    pub(crate) fn check(&self) -> Result<(), HookError> {
        if let Some(url) = &self.url {
            Target::parse(url)?;
        }
        check_events(self.events.as_deref().unwrap_or_default())?;
        check_description(self.description.as_deref().unwrap_or_default())
    }
}

// === impl Hook ===

impl Hook {
    /// `None` for a row that other hands wrote.
    pub(crate) fn of(row: WebhookRow) -> Option<Self> {
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

fn check_events(events: &[String]) -> Result<(), HookError> {
    if events.len() > EVENT_TYPES {
        return Err(HookError::ManyEvents(events.len()));
    }
    match events.iter().find(|event| !TYPES.contains(&event.as_str())) {
        Some(unknown) => Err(HookError::Events {
            event: unknown.chars().take(100).collect(),
        }),
        None => Ok(()),
    }
}

fn check_description(text: &str) -> Result<(), HookError> {
    if text.chars().count() > DESCRIPTION_CHARS {
        return Err(HookError::Description);
    }
    Ok(())
}
