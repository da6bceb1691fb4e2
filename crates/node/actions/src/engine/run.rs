//! The life cycle of one request, from plan to outcome.
//!
//! Invariants: a non-blocking action is on disk before its provisional response, and its end before
//! the outcome is sent; a blocking one leaves nothing.

use std::sync::Arc;

use jiff::Timestamp;
use pxp::{Body, Request, TransactionId};

use super::asker::{Asker, label, refusal_text};
use super::disk::on_disk;
use super::end::End;
use super::execute::Execution;
use super::outcome::{Outcome, not_known};
use super::transactions::Turn;
use super::{Shared, courier};
use crate::modules::{self, Planned, Refusal, Work};
use crate::process::boot_id;
use crate::spool::{
    Carriage, CreateEntryError, Delivery, Entry, Extension, Record, Status, since_boot,
};

/// Runs a request whose sender waits for the outcome.
pub(super) async fn blocking(shared: Arc<Shared>, mut turn: Turn, asker: Asker, request: Request) {
    let id = request.transaction_id.clone();
    let label = label(&request.module, &request.action, &id, true);
    let carriage = Carriage::of(request.extended == Some(true));
    let file_servers = request.file_servers.clone();
    let work = match plan(&shared, request).await {
        Ok(work) => work,
        Err(refusal) => {
            shared
                .send_error(&asker, id, refusal_text(&refusal, &label))
                .await;
            return;
        }
    };
    let entry = shared.spool.scratch();
    turn.active.set_entry(entry.clone());
    let made = entry.clone();
    if let Err(error) = on_disk(move || made.make()).await {
        let place = shared.spool.directory().display();
        let why = format!("cannot make room for the {label} in {place}: {error}");
        return shared.send_error(&asker, id, why).await;
    }
    let kind = work.result_kind();
    let end = Execution {
        shared: &shared,
        turn: &mut turn,
        entry: &entry,
        file_servers: &file_servers,
    }
    .perform(work)
    .await;
    shared.live.flush(&shared, &id).await;
    let owned = Arc::clone(&shared);
    let outcome = on_disk(move || {
        let outcome = match end {
            End::Exit(exit) => Outcome::of(&entry, &exit, &kind, (&label, carriage), &owned.config),
            End::Undetermined(why) => Ok(Outcome::Error(why)),
        };
        // An entry that cannot be removed now is removed by the next purge.
        let _ = entry.remove();
        outcome
    })
    .await
    .unwrap_or_else(|error| Outcome::Error(not_known(format!("cannot read the result: {error}"))));
    let body = outcome.into_body(id.clone(), &asker, true);
    shared.answer(&asker, id, body).await;
}

/// Runs a request whose sender gets a provisional response at once and the outcome later.
pub(super) async fn non_blocking(
    shared: Arc<Shared>,
    mut turn: Turn,
    asker: Asker,
    request: Request,
) {
    let id = request.transaction_id.clone();
    let label = label(&request.module, &request.action, &id, false);
    let mut record = new_record(&asker, &request);
    let file_servers = request.file_servers.clone();
    let work = match plan(&shared, request).await {
        Ok(work) => work,
        Err(refusal) => {
            shared
                .send_error(&asker, id, refusal_text(&refusal, &label))
                .await;
            return;
        }
    };
    if let Some(extension) = &mut record.tutti {
        extension.result = work.result_kind();
    }
    let spool = shared.spool.clone();
    let written = record.clone();
    let created = on_disk(move || Ok(spool.create(&written))).await;
    let entry = match created {
        Ok(Ok(entry)) => entry,
        Ok(Err(CreateEntryError::Exists)) => return known(&shared, turn, asker, &record).await,
        Ok(Err(error)) => return shared.send_error(&asker, id, error.to_string()).await,
        Err(error) => return shared.send_error(&asker, id, error.to_string()).await,
    };
    turn.active.set_entry(entry.clone());
    if let Some((viewer, until)) = turn.active.take_credit() {
        shared.live.credit(&shared, &id, &viewer, until);
    }
    shared
        .send(&asker.uri, Body::ProvisionalResponse { transaction_id: id })
        .await;
    let end = Execution {
        shared: &shared,
        turn: &mut turn,
        entry: &entry,
        file_servers: &file_servers,
    }
    .perform(work)
    .await;
    finish(&shared, turn, record, entry, end).await;
}

/// Records the end of an action and sends its outcome.
pub(super) async fn finish(
    shared: &Arc<Shared>,
    turn: Turn,
    mut record: Record,
    entry: Entry,
    end: End,
) {
    let id = record.transaction_id.clone();
    shared.live.flush(shared, &id).await;
    if let End::Undetermined(why) = &end {
        record.status = Status::Undetermined;
        record.execution_error = Some(why.clone());
    }
    let outcome = courier::outcome(shared, &entry, &record, end).await;
    if record.status == Status::Running {
        record.status = outcome.status();
    }
    if let Outcome::Error(why) = &outcome {
        record.execution_error = Some(why.clone());
    }
    record.end = Some(Timestamp::now());
    record.results_are_valid = Some(matches!(outcome, Outcome::Results { .. }));

    if record.status == Status::Undetermined {
        // Nothing else on disk records it, and a query may arrive before the rest is done.
        write(&entry, &record).await;
    } else {
        keep_end(&entry, &id).await;
    }
    let asker = Asker::of(&record);
    let mut sends = 0;
    if record.notify_outcome && *shared.outbox.connected().borrow() {
        let body = outcome.into_body(id.clone(), &asker, false);
        sends = u32::from(shared.answer(&asker, id.clone(), body).await);
    }
    if let Some(extension) = &mut record.tutti {
        extension.delivery.sends = sends;
    }
    let notify = record.notify_outcome;
    write(&entry, &record).await;
    if notify {
        shared.courier.add(id.clone(), asker.uri.clone(), sends);
    }
    end_turn(shared, turn, &asker, id).await;
}

/// Ends the turn, and applies an acknowledgement that arrived earlier.
async fn end_turn(shared: &Arc<Shared>, turn: Turn, asker: &Asker, id: TransactionId) {
    let active = Arc::clone(&turn.active);
    drop(turn);
    if active.is_acknowledged() {
        shared.acknowledged(&asker.uri, id).await;
    }
}

/// Flushes the exit record to disk. Its name may not be on disk yet, and a power cut must not make
/// a reported outcome unknown.
async fn keep_end(entry: &Entry, id: &TransactionId) {
    let synced = entry.clone();
    if let Err(error) = on_disk(move || synced.sync()).await {
        // The end is true and is reported anyway; it is lost only by a power cut.
        tracing::error!(transaction_id = %id, %error, "cannot put the end of an action on disk");
    }
}

/// Flushes the summary of the end to disk.
async fn write(entry: &Entry, record: &Record) {
    let (entry, written) = (entry.clone(), record.clone());
    let result = on_disk(move || entry.write_record(&written)).await;
    if let Err(error) = result {
        // The exit record exists; only its summary is missing.
        tracing::error!(transaction_id = %record.transaction_id, %error, "cannot update the spool");
    }
}

/// Answers a request for a transaction that ended in the past from the spool; it never runs again.
async fn known(shared: &Arc<Shared>, turn: Turn, asker: Asker, asked: &Record) {
    let id = asked.transaction_id.clone();
    tracing::info!(transaction_id = %id, sender = %asker.uri, "already carried out; not run again");
    let body = Body::ProvisionalResponse {
        transaction_id: id.clone(),
    };
    if shared.send(&asker.uri, body).await && asked.notify_outcome {
        courier::deliver(shared, &id, Some(&asker)).await;
    }
    end_turn(shared, turn, &asker, id).await;
}

async fn plan(shared: &Shared, request: Request) -> Result<Work, Refusal> {
    let Request {
        module,
        action,
        params,
        ..
    } = request;
    let planned = match modules::plan(&module, &action, &params) {
        Some(planned) => planned?,
        None => shared.external.plan(&module, &action, &params).await?,
    };
    match planned {
        Planned::Work(work) => Ok(work),
        Planned::Reply(_) | Planned::Status(_) | Planned::Cancel(_) | Planned::Facts => {
            unreachable!("answered by the intake")
        }
    }
}

fn new_record(asker: &Asker, request: &Request) -> Record {
    Record {
        requester: asker.uri.clone(),
        module: request.module.clone(),
        action: request.action.clone(),
        request_params: "{}".to_owned(),
        transaction_id: request.transaction_id.clone(),
        request_id: asker.message_id.as_str().to_owned(),
        notify_outcome: request.notify_outcome.unwrap_or(true),
        start: Timestamp::now(),
        status: Status::Running,
        end: None,
        results_are_valid: None,
        execution_error: None,
        tutti: Some(Extension {
            boot_id: boot_id().unwrap_or_default(),
            boot_ms: u64::try_from(since_boot().as_millis()).ok(),
            result: crate::spool::ResultKind::Output,
            extended: request.extended == Some(true),
            delivery: Delivery::default(),
        }),
    }
}
