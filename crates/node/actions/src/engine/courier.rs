//! Delivery of outcomes to their requesters: [`Courier`].
//!
//! Invariant: an outcome is read from the spool when it is sent, so the waiting queue is a list of
//! ids, and everything in it survives a restart.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pcp::PcpUri;
use pxp::TransactionId;
use tokio::sync::Notify;

use super::Shared;
use super::asker::{Asker, label};
use super::disk::on_disk;
use super::end::{End, is_damaged, why_without_record};
use super::outcome::{Outcome, not_known};
use super::schedule::Schedule;
use crate::defaults::{MAX_PENDING_OUTCOMES, RESEND_GAP};
use crate::modules::TASK_MODULE;
use crate::spool::{Entry, Record};

/// A spool entry that is about to be delivered.
enum Loaded {
    Ended(Entry, Box<Record>, End),
    /// Its record cannot be read, so its requester is not known.
    Damaged(String),
}

/// Outcomes whose delivery is not confirmed.
#[derive(Debug, Default)]
pub(super) struct Courier {
    schedule: Mutex<Schedule>,
    changed: Notify,
    /// Held while a record is read, changed and written.
    records: tokio::sync::Mutex<()>,
}

impl Courier {
    /// Schedules an outcome that was handed to a connection `sends` times.
    pub(super) fn add(&self, id: TransactionId, requester: PcpUri, sends: u32) {
        let mut schedule = self.schedule();
        if schedule.len() >= MAX_PENDING_OUTCOMES {
            tracing::warn!(transaction_id = %id, "too many outcomes wait; this one can be queried");
            return;
        }
        if schedule.add(id, requester, sends, Instant::now()) {
            self.changed.notify_one();
        }
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        // Every change is complete before anything that could panic.
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends outcomes when they are due, for the lifetime of the engine.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut connected = shared.outbox.connected();
    while connected.wait_for(|connected| *connected).await.is_ok() {
        shared.courier.schedule().connected(Instant::now());
        loop {
            let next = shared.courier.schedule().next();
            let due = async {
                match &next {
                    Some((_, due)) => tokio::time::sleep_until((*due).into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = connected.changed() => match changed {
                    Ok(()) if *connected.borrow_and_update() => {
                        shared.courier.schedule().connected(Instant::now());
                    }
                    _ => break,
                },
                () = shared.courier.changed.notified() => {}
                () = due => {
                    let (id, _) = next.expect("only then it is due");
                    deliver(&shared, &id, None).await;
                    tokio::time::sleep(RESEND_GAP).await;
                }
            }
        }
    }
}

/// Sends an outcome from the spool: to its requester, or to `asker`, which requested the same
/// transaction again.
pub(super) async fn deliver(shared: &Arc<Shared>, id: &TransactionId, asker: Option<&Asker>) {
    let spool = shared.spool.clone();
    let wanted = id.clone();
    let loaded = on_disk(move || {
        let Some(entry) = spool.find(&wanted) else {
            return Ok(None);
        };
        let record = match entry.record() {
            Ok(record) => record,
            Err(error) if is_damaged(&error) => {
                return Ok(Some(Loaded::Damaged(why_without_record(&entry, &error))));
            }
            Err(error) => return Err(error),
        };
        let end = End::read(&entry, &record)?;
        Ok(end.map(|end| Loaded::Ended(entry, Box::new(record), end)))
    })
    .await;
    let (entry, record, end) = match loaded {
        Ok(Some(Loaded::Ended(entry, record, end))) => (entry, record, end),
        Ok(Some(Loaded::Damaged(why))) => {
            shared.courier.schedule().remove(id);
            if let Some(asker) = asker {
                shared.send_error(asker, id.clone(), why).await;
            }
            return;
        }
        // The entry was purged, or its action has not ended.
        Ok(None) => return shared.courier.schedule().remove(id),
        Err(error) => {
            tracing::error!(transaction_id = %id, %error, "cannot read the outcome");
            return shared.courier.schedule().remove(id);
        }
    };
    let outcome = outcome(shared, &entry, &record, end).await;
    let requester = Asker::of(&record);
    let asker = asker.unwrap_or(&requester);
    let body = outcome.into_body(id.clone(), asker, false);
    if !shared.answer(asker, id.clone(), body).await {
        return shared.courier.schedule().not_sent(id);
    }
    if asker.uri == requester.uri {
        shared.courier.schedule().sent(id, Instant::now());
        shared
            .update_record(entry, |delivery| delivery.sends += 1)
            .await;
    }
}

pub(super) async fn outcome(
    shared: &Arc<Shared>,
    entry: &Entry,
    record: &Record,
    end: End,
) -> Outcome {
    let label = label(
        &record.module,
        &record.action,
        &record.transaction_id,
        false,
    );
    let exit = match end {
        End::Exit(exit) => exit,
        End::Undetermined(why) => return Outcome::Error(why),
    };
    let (shared, entry, kind) = (Arc::clone(shared), entry.clone(), record.result_kind());
    let carriage = record.carriage();
    on_disk(move || Outcome::of(&entry, &exit, &kind, (&label, carriage), &shared.config))
        .await
        .unwrap_or_else(|error| {
            Outcome::Error(not_known(format!("cannot read the result: {error}")))
        })
}

impl Shared {
    /// Records that the requester has stored the outcome: it is not sent again.
    pub(super) async fn acknowledged(self: &Arc<Self>, sender: &PcpUri, id: TransactionId) {
        self.courier.schedule().acknowledges(sender, Instant::now());
        if let Some(active) = self.transactions.get(&id) {
            // Its record is being written; the writer checks for acknowledgements again.
            active.acknowledge();
            if !active.has_ended() {
                return;
            }
        }
        let Some(entry) = self.spool.find(&id) else {
            return;
        };
        match entry.record() {
            Ok(record) if record.requester == *sender => {
                self.courier.schedule().remove(&id);
                if record.module == TASK_MODULE {
                    self.scrub(&entry, &id).await;
                }
                self.update_record(entry, |delivery| delivery.acknowledged = true)
                    .await;
            }
            Ok(_) => {
                tracing::warn!(transaction_id = %id, %sender, "acknowledged by another; ignored");
            }
            Err(error) => tracing::warn!(transaction_id = %id, %error, "cannot acknowledge"),
        }
    }

    /// Removes a task's secrets before the entry counts as acknowledged: after a crash between the
    /// two steps it is acknowledged and scrubbed once more.
    async fn scrub(&self, entry: &Entry, id: &TransactionId) {
        let scrubbed = entry.clone();
        if let Err(error) = on_disk(move || scrubbed.scrub()).await {
            tracing::error!(
                transaction_id = %id, %error,
                "cannot remove what the task marked as `_sensitive` from the spool; remove the entry's \
                 stdout by hand, or wait for the purge"
            );
        }
    }

    async fn update_record(
        &self,
        entry: Entry,
        change: impl FnOnce(&mut crate::spool::Delivery) + Send + 'static,
    ) {
        let _held = self.courier.records.lock().await;
        let updated = on_disk(move || {
            let mut record = entry.record()?;
            let Some(extension) = &mut record.tutti else {
                return Ok(());
            };
            change(&mut extension.delivery);
            entry.write_record(&record)
        });
        if let Err(error) = updated.await {
            // At worst the outcome is sent once more than needed.
            tracing::warn!(%error, "cannot update the spool");
        }
    }
}
