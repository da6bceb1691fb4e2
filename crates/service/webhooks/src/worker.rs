//! The worker of one webhook: [`DeliveryWorker`] reads the log from its stored position and
//! delivers the events in order.
//!
//! Invariants: events of jobs are delivered in their order, and so are events of plan jobs and those
//! of Puppet runs, which have separate logs; an event is completed when the receiver accepted it or when it was tried
//! for [`GIVE_UP`]; an event that is sent twice after a crash has the same id.

use store::{Store, StoreError, WebhookProgress, WebhookRow, now_ms};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff;
use crate::defaults::{BATCH, GIVE_UP, POLL, PROGRESS_EVENTS, STORE_PAUSE};
use crate::deliver::{DeliveryClient, DeliveryError};
use crate::event::{WebhookEvent, WebhookEventId};
use crate::message::DeliveryMessage;
use crate::signature::SigningSecret;
use crate::subject::EventSubject;
use crate::target::ReceiverUrl;
use crate::template::MessageTemplate;
use crate::webhook::{is_subscribed, names_puppet_runs};

/// The settings and dependencies of a worker.
pub(crate) struct WorkerSettings {
    pub(crate) target: ReceiverUrl,
    pub(crate) secret: SigningSecret,
    /// Types of events to send; empty for all of jobs and plans.
    pub(crate) events: Vec<String>,
    pub(crate) template: MessageTemplate,
}

pub(crate) struct DeliveryWorker {
    pub(crate) id: String,
    pub(crate) target: ReceiverUrl,
    pub(crate) secret: SigningSecret,
    pub(crate) events: Vec<String>,
    pub(crate) template: MessageTemplate,
    pub(crate) store: Store,
    pub(crate) sender: DeliveryClient,
    pub(crate) stop: CancellationToken,
    progress: WebhookProgress,
    /// `true` if `progress` is newer than the stored one.
    is_unsaved: bool,
}

/// The result of the delivery of an event.
enum DeliveryOutcome {
    Accepted,
    GivenUp,
    /// The receiver responded that it no longer exists.
    ReceiverGone,
    /// The worker was stopped.
    Stopped,
}

// === impl DeliveryWorker ===

impl DeliveryWorker {
    pub(crate) fn new(
        row: &WebhookRow,
        parts: WorkerSettings,
        store: Store,
        sender: DeliveryClient,
        stop: CancellationToken,
    ) -> Self {
        let progress = WebhookProgress {
            next_event: row.next_event,
            next_plan_event: row.next_plan_event,
            next_puppet_run_event: row.next_puppet_run_event,
            failing_ms: row.failing_ms,
            last_error: row.last_error.clone(),
            ..WebhookProgress::default()
        };
        Self {
            id: row.id.clone(),
            target: parts.target,
            secret: parts.secret,
            events: parts.events,
            template: parts.template,
            store,
            sender,
            stop,
            progress,
            is_unsaved: false,
        }
    }

    /// Works until it is stopped, or until the receiver no longer exists.
    pub(crate) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            match self.deliver_batch().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(webhook = self.id, %error, "cannot read or write a webhook's \
                        progress; tried again");
                    self.pause(STORE_PAUSE).await;
                }
            }
        }
        // Events after the saved position are sent again after the next start, with the same ids.
        if let Err(error) = self.save_progress().await {
            tracing::debug!(webhook = self.id, %error, "a webhook's progress was not saved");
        }
    }

    /// Delivers one batch; returns `false` when the worker must end.
    async fn deliver_batch(&mut self) -> Result<bool, StoreError> {
        let mut events = self.events_of_jobs().await?;
        events.extend(self.events_of_plan_jobs().await?);
        events.extend(self.events_of_puppet_runs().await?);
        if events.is_empty() {
            self.save_progress().await?;
            self.pause(POLL).await;
            return Ok(true);
        }
        for event in events {
            match self.deliver_event(&event).await? {
                DeliveryOutcome::Accepted => {
                    self.progress.delivered += i64::from(self.is_subscribed(&event))
                }
                DeliveryOutcome::GivenUp => self.progress.given_up += 1,
                DeliveryOutcome::ReceiverGone => {
                    self.disable_webhook().await?;
                    return Ok(false);
                }
                DeliveryOutcome::Stopped => return Ok(false),
            }
            match event.id {
                WebhookEventId::Job(number) => self.progress.next_event = number + 1,
                WebhookEventId::Plan(number) => self.progress.next_plan_event = number + 1,
                WebhookEventId::PuppetRun(number) => self.complete_puppet_run(number),
            }
            self.is_unsaved = true;
            if self.progress.delivered >= PROGRESS_EVENTS {
                self.save_progress().await?;
            }
        }
        Ok(true)
    }

    async fn events_of_jobs(&self) -> Result<Vec<WebhookEvent>, StoreError> {
        let from_id = self.progress.next_event;
        let events = self.store.all_events(from_id, BATCH).await?;
        Ok(events.into_iter().map(WebhookEvent::from).collect())
    }

    /// The questions and ends of plan jobs. Other events, which are most of that log, are skipped
    /// without being read.
    async fn events_of_plan_jobs(&mut self) -> Result<Vec<WebhookEvent>, StoreError> {
        let from_id = self.progress.next_plan_event;
        let last_id = self.store.last_plan_event_id().await?;
        if last_id < from_id {
            return Ok(Vec::new());
        }
        let events = self
            .store
            .announced_plan_events(from_id, last_id, BATCH)
            .await?;
        if events.is_empty() {
            self.progress.next_plan_event = last_id + 1;
            self.is_unsaved = true;
        }
        Ok(events.into_iter().map(WebhookEvent::from).collect())
    }

    /// Events of Puppet runs, if the webhook names any: otherwise the log may have none of its own.
    async fn events_of_puppet_runs(&self) -> Result<Vec<WebhookEvent>, StoreError> {
        if !names_puppet_runs(&self.events) {
            return Ok(Vec::new());
        }
        let from_id = self.progress.next_puppet_run_event;
        let events = self.store.puppet_run_events(from_id, BATCH).await?;
        Ok(events.into_iter().map(WebhookEvent::from).collect())
    }

    /// Ids have no gaps, so events before this one that were not read are no longer stored.
    fn complete_puppet_run(&mut self, number: i64) {
        self.progress.given_up += (number - self.progress.next_puppet_run_event).max(0);
        self.progress.next_puppet_run_event = number + 1;
    }

    /// Delivers one event until it is accepted or given up.
    async fn deliver_event(&mut self, event: &WebhookEvent) -> Result<DeliveryOutcome, StoreError> {
        if !self.is_subscribed(event) {
            return Ok(DeliveryOutcome::Accepted);
        }
        let subject = EventSubject::load(event, &self.store).await?;
        let Some(message) = DeliveryMessage::for_event(event, &subject, self.template) else {
            return Ok(DeliveryOutcome::Accepted);
        };
        let begun = Instant::now();
        let mut failures = 0;
        loop {
            let sent = self.sender.send(&self.target, &self.secret, &message);
            let sent = tokio::select! {
                sent = sent => sent,
                () = self.stop.cancelled() => return Ok(DeliveryOutcome::Stopped),
            };
            match sent {
                Ok(()) => {
                    self.is_unsaved |= self.progress.failing_ms.take().is_some();
                    self.progress.last_error = None;
                    return Ok(DeliveryOutcome::Accepted);
                }
                Err(DeliveryError::Gone) => return Ok(DeliveryOutcome::ReceiverGone),
                Err(error) => self.record_failure(&error).await?,
            }
            if begun.elapsed() >= GIVE_UP {
                return Ok(DeliveryOutcome::GivenUp);
            }
            failures += 1;
            let jitter = f64::from(rand::random::<u32>()) / f64::from(u32::MAX);
            self.pause(backoff::retry_delay(failures, jitter)).await;
        }
    }

    fn is_subscribed(&self, event: &WebhookEvent) -> bool {
        is_subscribed(&self.events, &event.kind)
    }

    /// Stores the first failure and each new reason; a repeated reason is not stored again.
    async fn record_failure(&mut self, error: &DeliveryError) -> Result<(), StoreError> {
        let error = error.to_string();
        if self.progress.failing_ms.is_none() {
            self.progress.failing_ms = Some(now_ms());
        }
        if self.progress.last_error.as_ref() != Some(&error) {
            tracing::warn!(webhook = self.id, error, "a webhook's receiver fails");
            self.progress.last_error = Some(error);
            self.is_unsaved = true;
            self.save_progress().await?;
        }
        Ok(())
    }

    async fn disable_webhook(&mut self) -> Result<(), StoreError> {
        self.progress.failing_ms = Some(now_ms());
        self.progress.last_error = Some(DeliveryError::Gone.to_string());
        self.is_unsaved = true;
        self.save_progress().await?;
        let off = store::WebhookChange {
            is_enabled: Some(false),
            ..store::WebhookChange::default()
        };
        self.store.update_webhook(&self.id, off).await.map(|_| ())
    }

    async fn save_progress(&mut self) -> Result<(), StoreError> {
        if !self.is_unsaved {
            return Ok(());
        }
        self.store
            .advance_webhook(&self.id, self.progress.clone())
            .await?;
        self.is_unsaved = false;
        self.progress.delivered = 0;
        self.progress.given_up = 0;
        Ok(())
    }

    async fn pause(&self, duration: std::time::Duration) {
        tokio::select! {
            () = tokio::time::sleep(duration) => {}
            () = self.stop.cancelled() => {}
        }
    }
}
