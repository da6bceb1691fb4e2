//! The queue of commands for PuppetDB: [`CommandQueue`], rows in the database.
//!
//! Invariant: positions ascend over restarts, also if the clock was set back.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::Value;
use store::{PuppetDbCommandRow, PuppetDbQueueSize, Store, StoreError, now_ms};
use tokio::sync::Notify;

use super::metrics::ForwardingMetrics;
use crate::compression::compress;
use crate::defaults::{MAX_PAYLOAD_BYTES, QUEUE_AGE, QUEUE_BYTES, QUEUE_DROP};
use crate::error::RecordRunError;
use crate::puppetdb_format::PayloadProducer;

/// Name and version of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandKind {
    pub(crate) name: &'static str,
    pub(crate) version: i64,
}

pub(crate) const REPLACE_FACTS: CommandKind = CommandKind {
    name: "replace facts",
    version: 5,
};
pub(crate) const REPLACE_CATALOG: CommandKind = CommandKind {
    name: "replace catalog",
    version: 9,
};
pub(crate) const STORE_REPORT: CommandKind = CommandKind {
    name: "store report",
    version: 8,
};

pub(crate) const DEACTIVATE_NODE: CommandKind = CommandKind {
    name: "deactivate node",
    version: 3,
};

/// Commands that wait for PuppetDB.
#[derive(Debug)]
pub(crate) struct CommandQueue {
    store: Store,
    /// Certname of this server.
    producer: String,
    /// Position of the next command.
    next: AtomicI64,
    /// Tells the forwarder that there is a new command.
    pub(super) news: Notify,
    pub(super) metrics: Arc<ForwardingMetrics>,
    last_error: Mutex<Option<String>>,
}

/// The state of the forwarding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardingState {
    /// Number of commands that wait for PuppetDB.
    pub queued: u64,
    /// Bytes of these commands as stored, which is compressed.
    pub bytes: u64,
    /// Age of the oldest one.
    pub oldest: Option<Duration>,
    /// The error of the last attempt; `None` if PuppetDB took or refused the command.
    pub last_error: Option<String>,
}

// === impl CommandQueue ===

impl CommandQueue {
    pub(crate) async fn open(store: Store, producer: &Certname) -> Result<Self, StoreError> {
        let last = store.last_puppetdb_command().await?.unwrap_or(0);
        // The position of the last command is not known if the queue was empty.
        let now = Timestamp::now().as_microsecond();
        let queue = Self {
            store,
            producer: producer.to_string(),
            next: AtomicI64::new(now.max(last.saturating_add(1))),
            news: Notify::new(),
            metrics: Arc::default(),
            last_error: Mutex::default(),
        };
        queue.update_gauges().await?;
        Ok(queue)
    }

    /// A command whose payload is made for this moment. `None` if the payload is too large.
    pub(crate) fn make_command(
        &self,
        kind: CommandKind,
        certname: &Certname,
        payload: impl FnOnce(PayloadProducer<'_>) -> Value,
    ) -> Result<PuppetDbCommandRow, RecordRunError> {
        let at = Timestamp::now();
        let payload = payload(PayloadProducer {
            certname: &self.producer,
            at,
        });
        let Some(payload) = compress(&payload, MAX_PAYLOAD_BYTES)? else {
            return Err(RecordRunError::TooLarge {
                limit: MAX_PAYLOAD_BYTES,
            });
        };
        Ok(PuppetDbCommandRow {
            position: self.next.fetch_add(1, Ordering::SeqCst),
            command: kind.name.to_owned(),
            version: kind.version,
            certname: certname.to_string(),
            queued_ms: at.as_millisecond(),
            size_bytes: i64::try_from(payload.len()).unwrap_or(i64::MAX),
            payload,
        })
    }

    /// Queues a command in place of the node's command of the same name.
    pub(crate) async fn replace(&self, command: &PuppetDbCommandRow) -> Result<(), StoreError> {
        self.store.replace_puppetdb_command(command).await?;
        self.notify_added();
        Ok(())
    }

    /// To be called after a command was written to the database.
    pub(crate) fn notify_added(&self) {
        self.news.notify_one();
    }

    pub(super) fn record_error(&self, error: Option<String>) {
        *self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Drops commands that are too old, and the oldest ones of a queue that is too long.
    pub(super) async fn enforce_bounds(&self) -> Result<(), StoreError> {
        let age = i64::try_from(QUEUE_AGE.as_millis()).unwrap_or(i64::MAX);
        let before = now_ms().saturating_sub(age);
        let mut dropped = self.store.drop_old_puppetdb_commands(before).await?;
        while self.update_gauges().await?.bytes > QUEUE_BYTES {
            dropped += self.store.drop_first_puppetdb_commands(QUEUE_DROP).await?;
        }
        if dropped > 0 {
            self.metrics.dropped.inc_by(dropped);
            tracing::error!(
                dropped,
                "commands for PuppetDB were dropped: it has taken none for too long; see tutti doctor"
            );
            self.update_gauges().await?;
        }
        Ok(())
    }

    pub(super) async fn update_gauges(&self) -> Result<PuppetDbQueueSize, StoreError> {
        let size = self.store.puppetdb_queue_size().await?;
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.metrics.queued.set(gauge(size.commands));
        self.metrics.queued_bytes.set(gauge(size.bytes));
        let age = age_of(size.oldest_ms).unwrap_or_default();
        self.metrics.oldest.set(gauge(age.as_secs()));
        Ok(size)
    }

    pub(crate) async fn state(&self) -> Result<ForwardingState, StoreError> {
        let size = self.update_gauges().await?;
        let last_error = self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(ForwardingState {
            queued: size.commands,
            bytes: size.bytes,
            oldest: age_of(size.oldest_ms),
            last_error: last_error.clone(),
        })
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn metrics(&self) -> Arc<ForwardingMetrics> {
        Arc::clone(&self.metrics)
    }
}

/// Time since a command was queued; zero if the clock was set back.
fn age_of(queued_ms: Option<i64>) -> Option<Duration> {
    let age = now_ms().saturating_sub(queued_ms?);
    Some(Duration::from_millis(u64::try_from(age).unwrap_or(0)))
}
