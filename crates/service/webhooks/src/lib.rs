//! Tells other programs about events: signed messages, again and again until they are taken.
//!
//! [`Webhooks`] is the handle. Each webhook has a task of its own that follows the event log from
//! where it was, so a receiver that is slow or away delays nobody else. The rules: an event is told
//! at least once, in order, with an id that stays; messages are signed; keys are sealed at rest and
//! shown once, to who makes them.

mod backoff;
pub mod defaults;
mod deliver;
mod happening;
mod hook;
mod message;
mod metrics;
mod notice;
mod signature;
mod subject;
mod target;
mod template;
mod worker;
mod workers;

use std::sync::Arc;

use pki::seal::SealKey;
use store::{Store, StoreError, WebhookChange, WebhookRow};
use tokio::sync::Mutex;
use uuid::Uuid;

pub use deliver::DeliveryError;
pub use hook::{Hook, HookChange, HookError, NewHook, TYPES};
pub use metrics::Metrics;
pub use signature::{Secret, SecretError};
pub use target::{Target, TargetError};
pub use template::{Template, TemplateError};

use crate::defaults::WEBHOOKS;
use crate::deliver::Sender;
use crate::message::Message;
use crate::worker::Parts;
use crate::workers::Workers;

/// The webhooks of an installation. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Webhooks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    seal: SealKey,
    sender: Sender,
    workers: Workers,
    /// One change at a time.
    changing: Mutex<()>,
}

/// A test message and what came of it.
#[derive(Debug)]
pub struct TestDelivery {
    /// The body as it was sent, in the webhook's template.
    pub body: String,
    /// The reason of the receiver for not taking it, if it did not.
    pub outcome: Result<(), DeliveryError>,
}

/// Why a webhook was not made or changed.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// What was asked for is wrong.
    #[error(transparent)]
    Invalid(#[from] HookError),
    /// There is none with this id.
    #[error("there is no webhook {0}; `tutti webhook list` shows those there are")]
    Unknown(Uuid),
    /// As many as there may be.
    #[error("there are {WEBHOOKS} webhooks already, which is the most; delete one first")]
    TooMany,
    /// The key on disk cannot be opened.
    #[error("the webhook's key cannot be opened; give it a new one")]
    Sealed,
    /// The store.
    #[error("cannot read or write webhooks")]
    Store(#[from] StoreError),
}

/// Why there are no webhooks.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error("cannot read webhooks")]
    Store(#[from] StoreError),
    /// The HTTP client.
    #[error("cannot make an HTTP client")]
    Http(#[from] reqwest::Error),
    /// The machine's list of trusted CAs.
    #[error("cannot verify receivers of webhooks")]
    Tls(#[from] pki::RootsError),
}

// === impl Webhooks ===

impl Webhooks {
    /// Opens, and goes on where each webhook was.
    pub async fn open(store: Store, seal: SealKey) -> Result<Self, OpenError> {
        let sender = Sender::new()?;
        let workers = Workers::new(store.clone(), sender.clone());
        let inner = Inner {
            store,
            seal,
            sender,
            workers,
            changing: Mutex::new(()),
        };
        for row in inner.store.webhooks().await? {
            inner.begin(&row).await;
        }
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Counters.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.sender.metrics
    }

    /// All, oldest first.
    pub async fn list(&self) -> Result<Vec<Hook>, WebhookError> {
        let rows = self.inner.store.webhooks().await?;
        Ok(rows.into_iter().filter_map(Hook::of).collect())
    }

    /// One.
    pub async fn get(&self, id: Uuid) -> Result<Hook, WebhookError> {
        Hook::of(self.inner.row(id).await?).ok_or(WebhookError::Unknown(id))
    }

    /// Makes one, which is told what happens from now on. The key is not shown again.
    pub async fn create(&self, new: NewHook) -> Result<(Hook, Secret), WebhookError> {
        let webhooks = self.clone();
        whole(async move { webhooks.created(new).await }).await
    }

    async fn created(&self, new: NewHook) -> Result<(Hook, Secret), WebhookError> {
        let (target, secret) = new.check()?;
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
            template: new.template.name().to_owned(),
            description: new.description,
            is_enabled: true,
            created_by: new.created_by,
            created_ms: jiff::Timestamp::now().as_millisecond(),
            next_event: inner.store.last_event_id().await? + 1,
            next_plan_event: inner.store.last_plan_event_id().await? + 1,
            delivered: 0,
            given_up: 0,
            failing_ms: None,
            last_error: None,
        };
        inner.store.insert_webhook(&row).await?;
        inner.begin(&row).await;
        let hook = Hook::of(row).ok_or(WebhookError::Sealed)?;
        Ok((hook, secret))
    }

    /// Changes one; answers the new key, if one was asked for.
    pub async fn change(
        &self,
        id: Uuid,
        change: HookChange,
    ) -> Result<(Hook, Option<Secret>), WebhookError> {
        let webhooks = self.clone();
        whole(async move { webhooks.changed(id, change).await }).await
    }

    async fn changed(
        &self,
        id: Uuid,
        change: HookChange,
    ) -> Result<(Hook, Option<Secret>), WebhookError> {
        change.check()?;
        let inner = &self.inner;
        let _one = inner.changing.lock().await;
        let before = inner.row(id).await?;
        let secret = change
            .renew_secret
            .then(Secret::random)
            .transpose()
            .map_err(HookError::from)?;
        let woken = change.is_enabled == Some(true) && !before.is_enabled;
        let row = WebhookChange {
            url: change.url,
            sealed: secret
                .as_ref()
                .map(|secret| inner.seal.seal(secret.expose().as_bytes())),
            events: change
                .events
                .map(|events| serde_json::json!(events).to_string()),
            template: change.template.map(|template| template.name().to_owned()),
            description: change.description,
            is_enabled: change.is_enabled,
            next_event: match woken {
                true => Some(inner.store.last_event_id().await? + 1),
                false => None,
            },
            next_plan_event: match woken {
                true => Some(inner.store.last_plan_event_id().await? + 1),
                false => None,
            },
        };
        // Its worker must not write its progress behind the change.
        inner.workers.end(&before.id).await;
        let changed = inner.store.update_webhook(&before.id, row).await;
        let after = inner.go_on(before).await;
        changed?;
        let hook = Hook::of(after).ok_or(WebhookError::Unknown(id))?;
        Ok((hook, secret))
    }

    /// Ends one. A message under way may still arrive.
    pub async fn delete(&self, id: Uuid) -> Result<(), WebhookError> {
        let webhooks = self.clone();
        whole(async move { webhooks.deleted(id).await }).await
    }

    async fn deleted(&self, id: Uuid) -> Result<(), WebhookError> {
        let inner = &self.inner;
        let _one = inner.changing.lock().await;
        let before = inner.row(id).await?;
        inner.workers.end(&before.id).await;
        match inner.store.delete_webhook(&before.id).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(WebhookError::Unknown(id)),
            Err(error) => {
                inner.go_on(before).await;
                Err(error.into())
            }
        }
    }

    /// Sends one message of type `test`, now, and says what was sent and what the receiver did.
    pub async fn test(&self, id: Uuid) -> Result<TestDelivery, WebhookError> {
        let row = self.inner.row(id).await?;
        let parts = self.inner.parts(&row)?;
        let message = Message::test(jiff::Timestamp::now(), parts.template);
        let sender = &self.inner.sender;
        let outcome = sender.send(&parts.target, &parts.secret, &message).await;
        Ok(TestDelivery {
            body: String::from_utf8_lossy(&message.body).into_owned(),
            outcome,
        })
    }

    /// Ends all tasks and waits for them.
    pub async fn shutdown(&self) {
        self.inner.workers.shutdown().await;
    }
}

// === impl Inner ===

impl Inner {
    async fn row(&self, id: Uuid) -> Result<WebhookRow, WebhookError> {
        let row = self.store.webhook(&id.to_string()).await?;
        row.ok_or(WebhookError::Unknown(id))
    }

    /// Sets a webhook to work again as it is stored, or, when that cannot be read, as it was: one
    /// that is shown as enabled is never without its worker.
    async fn go_on(&self, before: WebhookRow) -> WebhookRow {
        let row = match self.store.webhook(&before.id).await {
            Ok(Some(row)) => row,
            Ok(None) => return before,
            Err(error) => {
                tracing::warn!(webhook = before.id, %error, "a webhook goes on as it was");
                before
            }
        };
        self.begin(&row).await;
        row
    }

    /// Sets an enabled one to work.
    async fn begin(&self, row: &WebhookRow) {
        if !row.is_enabled {
            return;
        }
        match self.parts(row) {
            Ok(parts) => self.workers.begin(row, parts).await,
            Err(error) => tracing::error!(webhook = row.id, %error, "a webhook cannot be used"),
        }
    }

    fn parts(&self, row: &WebhookRow) -> Result<Parts, WebhookError> {
        let opened = self.seal.open(&row.sealed).ok();
        let text = opened.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        Ok(Parts {
            target: Target::parse(&row.url).map_err(HookError::from)?,
            secret: Secret::parse(&text.ok_or(WebhookError::Sealed)?).map_err(HookError::from)?,
            events: serde_json::from_str(&row.events).unwrap_or_default(),
            template: row.template.parse().map_err(HookError::from)?,
        })
    }
}

/// Runs a change to its end, also when its caller goes away in the middle.
async fn whole<T: Send + 'static>(change: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(change).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
