//! Delivery of outcomes to their requesters: [`OutcomeDelivery`].
//!
//! Invariant: an outcome is read from the spool when it is sent, so the waiting queue is a list of
//! ids, and everything in it survives a restart.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pcp::PcpUri;
use pxp::TransactionId;
use tokio::sync::Notify;

use super::action_end::{ActionEnd, describe_unreadable_record, is_damaged};
use super::disk::run_blocking;
use super::outcome::{ActionOutcome, unknown_outcome_text};
use super::requester::{ActionRequester, label};
use super::resend_schedule::ResendSchedule;
use super::state::ActionEngineState;
use crate::defaults::{MAX_PENDING_OUTCOMES, RESEND_GAP};
use crate::modules::TASK_MODULE;
use crate::spool::{SpoolEntry, TransactionRecord};

/// A spool entry that is about to be delivered.
enum LoadedOutcome {
    Ended(SpoolEntry, Box<TransactionRecord>, ActionEnd),
    /// Its record cannot be read, so its requester is not known.
    Damaged(String),
}

/// Outcomes whose delivery is not confirmed.
#[derive(Debug, Default)]
pub(super) struct OutcomeDelivery {
    schedule: Mutex<ResendSchedule>,
    changed: Notify,
    /// Held while a record is read, changed and written.
    records: tokio::sync::Mutex<()>,
}

impl OutcomeDelivery {
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

    fn schedule(&self) -> MutexGuard<'_, ResendSchedule> {
        // Every change is complete before anything that could panic.
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends outcomes when they are due, for the lifetime of the engine.
pub(super) async fn run(shared: Arc<ActionEngineState>) {
    let mut connected = shared.outbox.connected();
    while connected.wait_for(|connected| *connected).await.is_ok() {
        shared.courier.schedule().record_connected(Instant::now());
        loop {
            let next = shared.courier.schedule().next_due();
            let due = async {
                match &next {
                    Some((_, due)) => tokio::time::sleep_until((*due).into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = connected.changed() => match changed {
                    Ok(()) if *connected.borrow_and_update() => {
                        shared.courier.schedule().record_connected(Instant::now());
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

/// Sends an outcome from the spool: to its requester, or to `requester`, which requested the same
/// transaction again.
pub(super) async fn deliver(
    shared: &Arc<ActionEngineState>,
    id: &TransactionId,
    asker: Option<&ActionRequester>,
) {
    let spool = shared.spool.clone();
    let wanted = id.clone();
    let loaded = run_blocking(move || {
        let Some(entry) = spool.find(&wanted) else {
            return Ok(None);
        };
        let record = match entry.record() {
            Ok(record) => record,
            Err(error) if is_damaged(&error) => {
                return Ok(Some(LoadedOutcome::Damaged(describe_unreadable_record(
                    &entry, &error,
                ))));
            }
            Err(error) => return Err(error),
        };
        let end = ActionEnd::read(&entry, &record)?;
        Ok(end.map(|end| LoadedOutcome::Ended(entry, Box::new(record), end)))
    })
    .await;
    let (entry, record, end) = match loaded {
        Ok(Some(LoadedOutcome::Ended(entry, record, end))) => (entry, record, end),
        Ok(Some(LoadedOutcome::Damaged(why))) => {
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
    let outcome = load_outcome(shared, &entry, &record, end).await;
    let requester = ActionRequester::of(&record);
    let asker = asker.unwrap_or(&requester);
    let body = outcome.into_body(id.clone(), asker, false);
    if !shared.answer(asker, id.clone(), body).await {
        return shared.courier.schedule().record_not_sent(id);
    }
    if asker.uri == requester.uri {
        shared.courier.schedule().record_sent(id, Instant::now());
        shared
            .update_record(entry, |delivery| delivery.sends += 1)
            .await;
    }
}

pub(super) async fn load_outcome(
    shared: &Arc<ActionEngineState>,
    entry: &SpoolEntry,
    record: &TransactionRecord,
    end: ActionEnd,
) -> ActionOutcome {
    let label = label(
        &record.module,
        &record.action,
        &record.transaction_id,
        false,
    );
    let exit = match end {
        ActionEnd::Exit(exit) => exit,
        ActionEnd::Undetermined(why) => return ActionOutcome::Error(why),
    };
    let (shared, entry, kind) = (Arc::clone(shared), entry.clone(), record.result_kind());
    let carriage = record.carriage();
    run_blocking(move || {
        ActionOutcome::of(&entry, &exit, &kind, (&label, carriage), &shared.config)
    })
    .await
    .unwrap_or_else(|error| {
        ActionOutcome::Error(unknown_outcome_text(format!(
            "cannot read the result: {error}"
        )))
    })
}

impl ActionEngineState {
    /// Records that the requester has stored the outcome: it is not sent again.
    pub(super) async fn handle_acknowledgement(
        self: &Arc<Self>,
        sender: &PcpUri,
        id: TransactionId,
    ) {
        self.courier
            .schedule()
            .record_acknowledgement(sender, Instant::now());
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
    async fn scrub(&self, entry: &SpoolEntry, id: &TransactionId) {
        let scrubbed = entry.clone();
        if let Err(error) = run_blocking(move || scrubbed.scrub()).await {
            tracing::error!(
                transaction_id = %id, %error,
                "cannot remove what the task marked as `_sensitive` from the spool; remove the entry's \
                 stdout by hand, or wait for the purge"
            );
        }
    }

    async fn update_record(
        &self,
        entry: SpoolEntry,
        change: impl FnOnce(&mut crate::spool::DeliveryState) + Send + 'static,
    ) {
        let _held = self.courier.records.lock().await;
        let updated = run_blocking(move || {
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
