//! Outgoing webhooks: signed messages about events to other programs, with retries until they are
//! accepted.
//!
//! [`Webhooks`] is the handle. Each webhook has a task of its own that follows the event log from
//! its stored position, so a slow or unavailable receiver does not delay the others. Invariants:
//! an event is delivered at least once, in order, with a stable id; messages are signed; keys are
//! sealed at rest and shown once, to the user who creates them.

mod backoff;
pub mod defaults;
mod deliver;
mod event;
mod message;
mod metrics;
mod notice;
mod signature;
mod subject;
mod target;
mod template;
mod webhook;
mod worker;
mod workers;

use std::sync::Arc;

use api_types::{NewWebhook, Webhook, WebhookEdit, WebhookTest};
use pki::seal::SealKey;
use store::{Store, StoreError, WebhookChange, WebhookRow, now_ms};
use tokio::sync::Mutex;
use uuid::Uuid;

pub use metrics::DeliveryMetrics;
pub use signature::{SigningSecret, SigningSecretError};
pub use target::TargetError;
pub use template::TemplateError;
pub use webhook::InvalidWebhook;

use crate::defaults::WEBHOOKS;
use crate::deliver::DeliveryClient;
use crate::message::DeliveryMessage;
use crate::target::ReceiverUrl;
use crate::webhook::{check_edit, check_new, from_row, names_puppet_runs};
use crate::worker::WorkerSettings;
use crate::workers::DeliveryWorkers;

/// The handle to the webhooks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Webhooks {
    inner: Arc<WebhooksState>,
}

#[derive(Debug)]
struct WebhooksState {
    store: Store,
    seal: SealKey,
    sender: DeliveryClient,
    workers: DeliveryWorkers,
    /// Held during a change, so that changes run one after another.
    changing: Mutex<()>,
}

/// A webhook could not be created, changed or read.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The request is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidWebhook),
    /// No webhook has this id.
    #[error("there is no webhook {0}; `tutti webhook list` shows those there are")]
    Unknown(Uuid),
    /// The maximum number of webhooks is reached.
    #[error("there are {WEBHOOKS} webhooks already, which is the most; delete one first")]
    TooMany,
    /// The sealed key in the store cannot be opened.
    #[error("the webhook's key cannot be opened; give it a new one")]
    Sealed,
    /// The store could not be read or written.
    #[error("cannot read or write webhooks")]
    Store(#[from] StoreError),
}

/// The webhooks could not be started.
#[derive(Debug, thiserror::Error)]
pub enum OpenWebhooksError {
    /// The store could not be read.
    #[error("cannot read webhooks")]
    Store(#[from] StoreError),
    /// The HTTP client could not be created.
    #[error("cannot make an HTTP client")]
    Http(#[from] reqwest::Error),
    /// The machine's list of trusted CAs could not be read.
    #[error("cannot verify receivers of webhooks")]
    Tls(#[from] pki::RootsError),
}

// === impl Webhooks ===

impl Webhooks {
    /// Starts the webhooks, each from its stored position.
    pub async fn open(store: Store, seal: SealKey) -> Result<Self, OpenWebhooksError> {
        let sender = DeliveryClient::new()?;
        let workers = DeliveryWorkers::new(store.clone(), sender.clone());
        let inner = WebhooksState {
            store,
            seal,
            sender,
            workers,
            changing: Mutex::new(()),
        };
        for row in inner.store.webhooks().await? {
            inner.start_worker(&row).await;
        }
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Counters for export as metrics.
    pub fn metrics(&self) -> &DeliveryMetrics {
        &self.inner.sender.metrics
    }

    /// All webhooks, oldest first.
    pub async fn list(&self) -> Result<Vec<Webhook>, WebhookError> {
        let rows = self.inner.store.webhooks().await?;
        Ok(rows.into_iter().filter_map(from_row).collect())
    }

    /// The webhook with this id.
    pub async fn get(&self, id: Uuid) -> Result<Webhook, WebhookError> {
        from_row(self.inner.find_row(id).await?).ok_or(WebhookError::Unknown(id))
    }

    /// Creates a webhook of the user with this login, which gets the events from now on. The key is
    /// not shown again.
    pub async fn create(
        &self,
        new: NewWebhook,
        created_by: String,
    ) -> Result<(Webhook, SigningSecret), WebhookError> {
        let webhooks = self.clone();
        run_to_completion(async move { webhooks.create_webhook(new, created_by).await }).await
    }

    async fn create_webhook(
        &self,
        mut new: NewWebhook,
        created_by: String,
    ) -> Result<(Webhook, SigningSecret), WebhookError> {
        let (target, template, secret) = check_new(&mut new)?;
        let inner = &self.inner;
        let _one = inner.changing.lock().await;
        if inner.store.webhooks().await?.len() >= WEBHOOKS {
            return Err(WebhookError::TooMany);
        }
        let row = WebhookRow {
            id: Uuid::new_v4().to_string(),
            url: target.as_str().to_owned(),
            sealed: inner.seal.seal(secret.expose().as_bytes()),
            events: serde_json::json!(new.events).to_string(),
            template: template.name().to_owned(),
            description: new.description,
            is_enabled: true,
            created_by,
            created_ms: now_ms(),
            next_event: inner.store.last_event_id().await? + 1,
            next_plan_event: inner.store.last_plan_event_id().await? + 1,
            next_puppet_run_event: inner.store.last_puppet_run_event_id().await? + 1,
            delivered: 0,
            given_up: 0,
            failing_ms: None,
            last_error: None,
        };
        inner.store.insert_webhook(&row).await?;
        inner.start_worker(&row).await;
        let hook = from_row(row).ok_or(WebhookError::Sealed)?;
        Ok((hook, secret))
    }

    /// Changes a webhook; returns the new key, if one was requested.
    pub async fn change(
        &self,
        id: Uuid,
        edit: WebhookEdit,
    ) -> Result<(Webhook, Option<SigningSecret>), WebhookError> {
        let webhooks = self.clone();
        run_to_completion(async move { webhooks.apply_edit(id, edit).await }).await
    }

    async fn apply_edit(
        &self,
        id: Uuid,
        edit: WebhookEdit,
    ) -> Result<(Webhook, Option<SigningSecret>), WebhookError> {
        check_edit(&edit)?;
        let inner = &self.inner;
        let _one = inner.changing.lock().await;
        let before = inner.find_row(id).await?;
        let secret = edit
            .renew_secret
            .then(SigningSecret::random)
            .transpose()
            .map_err(InvalidWebhook::from)?;
        let woken = edit.enabled == Some(true) && !before.is_enabled;
        let told: Vec<String> = serde_json::from_str(&before.events).unwrap_or_default();
        let newly_named = edit.events.as_deref().is_some_and(names_puppet_runs);
        let skips_runs = woken || (newly_named && !names_puppet_runs(&told));
        let row = WebhookChange {
            url: edit.url,
            sealed: secret
                .as_ref()
                .map(|secret| inner.seal.seal(secret.expose().as_bytes())),
            events: edit
                .events
                .map(|events| serde_json::json!(events).to_string()),
            template: edit.template,
            description: edit.description,
            is_enabled: edit.enabled,
            next_event: match woken {
                true => Some(inner.store.last_event_id().await? + 1),
                false => None,
            },
            next_plan_event: match woken {
                true => Some(inner.store.last_plan_event_id().await? + 1),
                false => None,
            },
            next_puppet_run_event: match skips_runs {
                true => Some(inner.store.last_puppet_run_event_id().await? + 1),
                false => None,
            },
        };
        // Stops the worker first, so that it cannot overwrite the change with its progress.
        inner.workers.end(&before.id).await;
        let changed = inner.store.update_webhook(&before.id, row).await;
        let after = inner.restart_worker(before).await;
        changed?;
        let hook = from_row(after).ok_or(WebhookError::Unknown(id))?;
        Ok((hook, secret))
    }

    /// Deletes a webhook. A message in progress may still arrive.
    pub async fn delete(&self, id: Uuid) -> Result<(), WebhookError> {
        let webhooks = self.clone();
        run_to_completion(async move { webhooks.delete_webhook(id).await }).await
    }

    async fn delete_webhook(&self, id: Uuid) -> Result<(), WebhookError> {
        let inner = &self.inner;
        let _one = inner.changing.lock().await;
        let before = inner.find_row(id).await?;
        inner.workers.end(&before.id).await;
        match inner.store.delete_webhook(&before.id).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(WebhookError::Unknown(id)),
            Err(error) => {
                inner.restart_worker(before).await;
                Err(error.into())
            }
        }
    }

    /// Sends one message of type `test` immediately; returns the message and the result.
    pub async fn test(&self, id: Uuid) -> Result<WebhookTest, WebhookError> {
        let row = self.inner.find_row(id).await?;
        let parts = self.inner.worker_settings(&row)?;
        let message = DeliveryMessage::test(jiff::Timestamp::now(), parts.template);
        let sender = &self.inner.sender;
        let outcome = sender.send(&parts.target, &parts.secret, &message).await;
        Ok(WebhookTest {
            delivered: outcome.is_ok(),
            body: String::from_utf8_lossy(&message.body).into_owned(),
            error: outcome.err().map(|error| error.to_string()),
        })
    }

    /// Stops all tasks and waits for them.
    pub async fn shutdown(&self) {
        self.inner.workers.shutdown().await;
    }
}

// === impl WebhooksState ===

impl WebhooksState {
    async fn find_row(&self, id: Uuid) -> Result<WebhookRow, WebhookError> {
        let row = self.store.webhook(&id.to_string()).await?;
        row.ok_or(WebhookError::Unknown(id))
    }

    /// Starts a webhook again with its stored settings, or, if these cannot be read, with the
    /// previous ones: a webhook that is shown as enabled always has a worker.
    async fn restart_worker(&self, before: WebhookRow) -> WebhookRow {
        let row = match self.store.webhook(&before.id).await {
            Ok(Some(row)) => row,
            Ok(None) => return before,
            Err(error) => {
                tracing::warn!(webhook = before.id, %error, "a webhook goes on as it was");
                before
            }
        };
        self.start_worker(&row).await;
        row
    }

    /// Starts the worker of an enabled webhook.
    async fn start_worker(&self, row: &WebhookRow) {
        if !row.is_enabled {
            return;
        }
        match self.worker_settings(row) {
            Ok(parts) => self.workers.start(row, parts).await,
            Err(error) => tracing::error!(webhook = row.id, %error, "a webhook cannot be used"),
        }
    }

    fn worker_settings(&self, row: &WebhookRow) -> Result<WorkerSettings, WebhookError> {
        let opened = self.seal.open(&row.sealed).ok();
        let text = opened.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        Ok(WorkerSettings {
            target: ReceiverUrl::parse(&row.url).map_err(InvalidWebhook::from)?,
            secret: SigningSecret::parse(&text.ok_or(WebhookError::Sealed)?)
                .map_err(InvalidWebhook::from)?,
            events: serde_json::from_str(&row.events).unwrap_or_default(),
            template: row.template.parse().map_err(InvalidWebhook::from)?,
        })
    }
}

/// Completes a change even if its caller is cancelled.
async fn run_to_completion<T: Send + 'static>(
    change: impl Future<Output = T> + Send + 'static,
) -> T {
    match tokio::spawn(change).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
