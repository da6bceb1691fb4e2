//! The life cycle of one request, from plan to outcome.
//!
//! Invariants: a non-blocking action is on disk before its provisional response, and its end before
//! the outcome is sent; a blocking one leaves nothing.

use std::sync::Arc;

use jiff::Timestamp;
use pxp::{PxpMessageBody, PxpRequest, TransactionId};

use super::action_end::ActionEnd;
use super::disk::run_blocking;
use super::execute::ActionExecution;
use super::outcome::{ActionOutcome, unknown_outcome_text};
use super::outcome_delivery;
use super::requester::{ActionRequester, label, refusal_text};
use super::state::ActionEngineState;
use super::transactions::TransactionGuard;
use crate::modules::{self, ActionPlan, RequestPlan, RequestRefusal};
use crate::process::boot_id;
use crate::spool::{
    CreateEntryError, DeliveryState, OutputEncoding, RecordExtension, RecordStatus, SpoolEntry,
    TransactionRecord, since_boot,
};

/// Runs a request whose sender waits for the outcome.
pub(super) async fn run_blocking_request(
    shared: Arc<ActionEngineState>,
    mut turn: TransactionGuard,
    asker: ActionRequester,
    request: PxpRequest,
) {
    let id = request.transaction_id.clone();
    let label = label(&request.module, &request.action, &id, true);
    let carriage = OutputEncoding::of(request.extended == Some(true));
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
    if let Err(error) = run_blocking(move || made.make()).await {
        let place = shared.spool.directory().display();
        let why = format!("cannot make room for the {label} in {place}: {error}");
        return shared.send_error(&asker, id, why).await;
    }
    let kind = work.result_kind();
    let end = ActionExecution {
        shared: &shared,
        turn: &mut turn,
        entry: &entry,
        file_servers: &file_servers,
    }
    .perform(work)
    .await;
    shared.live.flush(&shared, &id).await;
    let owned = Arc::clone(&shared);
    let outcome = run_blocking(move || {
        let outcome = match end {
            ActionEnd::Exit(exit) => {
                ActionOutcome::of(&entry, &exit, &kind, (&label, carriage), &owned.config)
            }
            ActionEnd::Undetermined(why) => Ok(ActionOutcome::Error(why)),
        };
        // An entry that cannot be removed now is removed by the next purge.
        let _ = entry.remove();
        outcome
    })
    .await
    .unwrap_or_else(|error| {
        ActionOutcome::Error(unknown_outcome_text(format!(
            "cannot read the result: {error}"
        )))
    });
    let body = outcome.into_body(id.clone(), &asker, true);
    shared.answer(&asker, id, body).await;
}

/// Runs a request whose sender gets a provisional response at once and the outcome later.
pub(super) async fn run_non_blocking_request(
    shared: Arc<ActionEngineState>,
    mut turn: TransactionGuard,
    asker: ActionRequester,
    request: PxpRequest,
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
    let created = run_blocking(move || Ok(spool.create(&written))).await;
    let entry = match created {
        Ok(Ok(entry)) => entry,
        Ok(Err(CreateEntryError::Exists)) => {
            return answer_ended_transaction(&shared, turn, asker, &record).await;
        }
        Ok(Err(error)) => return shared.send_error(&asker, id, error.to_string()).await,
        Err(error) => return shared.send_error(&asker, id, error.to_string()).await,
    };
    turn.active.set_entry(entry.clone());
    if let Some((viewer, until)) = turn.active.take_credit() {
        shared.live.credit(&shared, &id, &viewer, until);
    }
    shared
        .send(
            &asker.uri,
            PxpMessageBody::ProvisionalResponse { transaction_id: id },
        )
        .await;
    let end = ActionExecution {
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
    shared: &Arc<ActionEngineState>,
    turn: TransactionGuard,
    mut record: TransactionRecord,
    entry: SpoolEntry,
    end: ActionEnd,
) {
    let id = record.transaction_id.clone();
    shared.live.flush(shared, &id).await;
    if let ActionEnd::Undetermined(why) = &end {
        record.status = RecordStatus::Undetermined;
        record.execution_error = Some(why.clone());
    }
    let outcome = outcome_delivery::load_outcome(shared, &entry, &record, end).await;
    if record.status == RecordStatus::Running {
        record.status = outcome.status();
    }
    if let ActionOutcome::Error(why) = &outcome {
        record.execution_error = Some(why.clone());
    }
    record.end = Some(Timestamp::now());
    record.results_are_valid = Some(matches!(outcome, ActionOutcome::Results { .. }));

    if record.status == RecordStatus::Undetermined {
        // Nothing else on disk records it, and a query may arrive before the rest is done.
        write(&entry, &record).await;
    } else {
        keep_end(&entry, &id).await;
    }
    let asker = ActionRequester::of(&record);
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
async fn end_turn(
    shared: &Arc<ActionEngineState>,
    turn: TransactionGuard,
    asker: &ActionRequester,
    id: TransactionId,
) {
    let active = Arc::clone(&turn.active);
    drop(turn);
    if active.is_acknowledged() {
        shared.handle_acknowledgement(&asker.uri, id).await;
    }
}

/// Flushes the exit record to disk. Its name may not be on disk yet, and a power cut must not make
/// a reported outcome unknown.
async fn keep_end(entry: &SpoolEntry, id: &TransactionId) {
    let synced = entry.clone();
    if let Err(error) = run_blocking(move || synced.sync()).await {
        // The end is true and is reported anyway; it is lost only by a power cut.
        tracing::error!(transaction_id = %id, %error, "cannot put the end of an action on disk");
    }
}

/// Flushes the summary of the end to disk.
async fn write(entry: &SpoolEntry, record: &TransactionRecord) {
    let (entry, written) = (entry.clone(), record.clone());
    let result = run_blocking(move || entry.write_record(&written)).await;
    if let Err(error) = result {
        // The exit record exists; only its summary is missing.
        tracing::error!(transaction_id = %record.transaction_id, %error, "cannot update the spool");
    }
}

/// Answers a request for a transaction that ended in the past from the spool; it never runs again.
async fn answer_ended_transaction(
    shared: &Arc<ActionEngineState>,
    turn: TransactionGuard,
    asker: ActionRequester,
    asked: &TransactionRecord,
) {
    let id = asked.transaction_id.clone();
    tracing::info!(transaction_id = %id, sender = %asker.uri, "already carried out; not run again");
    let body = PxpMessageBody::ProvisionalResponse {
        transaction_id: id.clone(),
    };
    if shared.send(&asker.uri, body).await && asked.notify_outcome {
        outcome_delivery::deliver(shared, &id, Some(&asker)).await;
    }
    end_turn(shared, turn, &asker, id).await;
}

async fn plan(
    shared: &ActionEngineState,
    request: PxpRequest,
) -> Result<ActionPlan, RequestRefusal> {
    let PxpRequest {
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
        RequestPlan::Work(work) => Ok(work),
        RequestPlan::Reply(_)
        | RequestPlan::Status(_)
        | RequestPlan::Cancel(_)
        | RequestPlan::HoldLease(_)
        | RequestPlan::ReleaseLease(_)
        | RequestPlan::ShowLease
        | RequestPlan::Facts => {
            unreachable!("answered by the intake")
        }
    }
}

fn new_record(asker: &ActionRequester, request: &PxpRequest) -> TransactionRecord {
    TransactionRecord {
        requester: asker.uri.clone(),
        module: request.module.clone(),
        action: request.action.clone(),
        request_params: "{}".to_owned(),
        transaction_id: request.transaction_id.clone(),
        request_id: asker.message_id.as_str().to_owned(),
        notify_outcome: request.notify_outcome.unwrap_or(true),
        start: Timestamp::now(),
        status: RecordStatus::Running,
        end: None,
        results_are_valid: None,
        execution_error: None,
        tutti: Some(RecordExtension {
            boot_id: boot_id().unwrap_or_default(),
            boot_ms: u64::try_from(since_boot().as_millis()).ok(),
            result: crate::spool::ResultKind::Output,
            extended: request.extended == Some(true),
            delivery: DeliveryState::default(),
        }),
    }
}
