//! The worker of one webhook: [`Worker`] reads the log from its stored position and delivers the
//! events in order.
//!
//! Invariants: events of jobs are delivered in their order, and so are events of plan jobs, which
//! have a separate log; an event is completed when the receiver accepted it or when it was tried
//! for [`GIVE_UP`]; an event that is sent twice after a crash has the same id.

use jiff::Timestamp;
use store::{Store, StoreError, WebhookProgress, WebhookRow};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff;
use crate::defaults::{BATCH, GIVE_UP, POLL, PROGRESS_EVENTS, STORE_PAUSE};
use crate::deliver::{DeliveryError, Sender};
use crate::happening::{Happening, HappeningId};
use crate::message::Message;
use crate::signature::Secret;
use crate::subject::Subject;
use crate::target::Target;
use crate::template::Template;

/// The settings and dependencies of a worker.
pub(crate) struct Parts {
    pub(crate) target: Target,
    pub(crate) secret: Secret,
    /// Types of events to send; empty for all.
    pub(crate) events: Vec<String>,
    pub(crate) template: Template,
}

pub(crate) struct Worker {
    pub(crate) id: String,
    pub(crate) target: Target,
    pub(crate) secret: Secret,
    pub(crate) events: Vec<String>,
    pub(crate) template: Template,
    pub(crate) store: Store,
    pub(crate) sender: Sender,
    pub(crate) stop: CancellationToken,
    progress: WebhookProgress,
    /// `true` if `progress` is newer than the stored one.
    unsaved: bool,
}

/// The result of the delivery of an event.
enum Told {
    Taken,
    GivenUp,
    /// The receiver responded that it no longer exists.
    Gone,
    /// The worker was stopped.
    Stopped,
}

// === impl Worker ===

impl Worker {
    pub(crate) fn new(
        row: &WebhookRow,
        parts: Parts,
        store: Store,
        sender: Sender,
        stop: CancellationToken,
    ) -> Self {
        let progress = WebhookProgress {
            next_event: row.next_event,
            next_plan_event: row.next_plan_event,
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
            unsaved: false,
        }
    }

    /// Works until it is stopped, or until the receiver no longer exists.
    pub(crate) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            match self.turn().await {
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
        if let Err(error) = self.save().await {
            tracing::debug!(webhook = self.id, %error, "a webhook's progress was not saved");
        }
    }

    /// Delivers one batch; returns `false` when the worker must end.
    async fn turn(&mut self) -> Result<bool, StoreError> {
        let mut events = self.events_of_jobs().await?;
        events.extend(self.events_of_plan_jobs().await?);
        if events.is_empty() {
            self.save().await?;
            self.pause(POLL).await;
            return Ok(true);
        }
        for event in events {
            match self.tell(&event).await? {
                Told::Taken => self.progress.delivered += i64::from(self.wants(&event)),
                Told::GivenUp => self.progress.given_up += 1,
                Told::Gone => {
                    self.switch_off().await?;
                    return Ok(false);
                }
                Told::Stopped => return Ok(false),
            }
            match event.id {
                HappeningId::Job(number) => self.progress.next_event = number + 1,
                HappeningId::Plan(number) => self.progress.next_plan_event = number + 1,
            }
            self.unsaved = true;
            if self.progress.delivered >= PROGRESS_EVENTS {
                self.save().await?;
            }
        }
        Ok(true)
    }

    async fn events_of_jobs(&self) -> Result<Vec<Happening>, StoreError> {
        let from_id = self.progress.next_event;
        let events = self.store.all_events(from_id, BATCH).await?;
        Ok(events.into_iter().map(Happening::from).collect())
    }

    /// Questions and ends of plan jobs. Most of that log is neither, and is passed over without being read.
    async fn events_of_plan_jobs(&mut self) -> Result<Vec<Happening>, StoreError> {
        let from_id = self.progress.next_plan_event;
        let last_id = self.store.last_plan_event_id().await?;
        if last_id < from_id {
            return Ok(Vec::new());
        }
        let events = self.store.told_plan_events(from_id, last_id, BATCH).await?;
        if events.is_empty() {
            self.progress.next_plan_event = last_id + 1;
            self.unsaved = true;
        }
        Ok(events.into_iter().map(Happening::from).collect())
    }

    /// Delivers one event until it is accepted or given up.
    async fn tell(&mut self, event: &Happening) -> Result<Told, StoreError> {
        if !self.wants(event) {
            return Ok(Told::Taken);
        }
        let subject = Subject::of(event, &self.store).await?;
        let Some(message) = Message::of(event, &subject, self.template) else {
            return Ok(Told::Taken);
        };
        let begun = Instant::now();
        let mut failures = 0;
        loop {
            let sent = self.sender.send(&self.target, &self.secret, &message);
            let sent = tokio::select! {
                sent = sent => sent,
                () = self.stop.cancelled() => return Ok(Told::Stopped),
            };
            match sent {
                Ok(()) => {
                    self.unsaved |= self.progress.failing_ms.take().is_some();
                    self.progress.last_error = None;
                    return Ok(Told::Taken);
                }
                Err(DeliveryError::Gone) => return Ok(Told::Gone),
                Err(error) => self.failed(&error).await?,
            }
            if begun.elapsed() >= GIVE_UP {
                return Ok(Told::GivenUp);
            }
            failures += 1;
            let jitter = f64::from(rand::random::<u32>()) / f64::from(u32::MAX);
            self.pause(backoff::wait(failures, jitter)).await;
        }
    }

    fn wants(&self, event: &Happening) -> bool {
        self.events.is_empty() || self.events.contains(&event.kind)
    }

    /// Stores the first failure and each new reason; a repeated reason is not stored again.
    async fn failed(&mut self, error: &DeliveryError) -> Result<(), StoreError> {
        let error = error.to_string();
        if self.progress.failing_ms.is_none() {
            self.progress.failing_ms = Some(Timestamp::now().as_millisecond());
        }
        if self.progress.last_error.as_ref() != Some(&error) {
            tracing::warn!(webhook = self.id, error, "a webhook's receiver fails");
            self.progress.last_error = Some(error);
            self.unsaved = true;
            self.save().await?;
        }
        Ok(())
    }

    async fn switch_off(&mut self) -> Result<(), StoreError> {
        self.progress.failing_ms = Some(Timestamp::now().as_millisecond());
        self.progress.last_error = Some(DeliveryError::Gone.to_string());
        self.unsaved = true;
        self.save().await?;
        let off = store::WebhookChange {
            is_enabled: Some(false),
            ..store::WebhookChange::default()
        };
        self.store.update_webhook(&self.id, off).await.map(|_| ())
    }

    async fn save(&mut self) -> Result<(), StoreError> {
        if !self.unsaved {
            return Ok(());
        }
        self.store
            .advance_webhook(&self.id, self.progress.clone())
            .await?;
        self.unsaved = false;
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
