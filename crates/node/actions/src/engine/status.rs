//! The answer to `status query`.
//!
//! Invariant: only facts that the spool proves are reported, and they are on disk before they are
//! reported. pxp-agent's forms are kept: a transaction that could not be executed has its reason as
//! an `_error` in `stdout`.

use std::sync::Arc;

use pxp::TransactionId;
use pxp::action::{ActionResult, PuppetResult, StatusResult, TransactionStatus};
use serde_json::{Value, json};

use super::action_end::{ActionEnd, describe_unreadable_record, is_damaged};
use super::disk::run_blocking;
use super::outcome::{OutputTooLarge, action_result, unknown_outcome_text};
use super::state::ActionEngineState;
use crate::modules::{WaitingFor, result_of, status_text};
use crate::spool::{OutputEncoding, ResultKind};

pub(super) async fn query(
    shared: &Arc<ActionEngineState>,
    id: TransactionId,
    carriage: OutputEncoding,
) -> Result<Value, OutputTooLarge> {
    let _place = shared
        .status_places
        .acquire()
        .await
        .expect("the semaphore is never closed");
    let owned = Arc::clone(shared);
    let asked = id.clone();
    let answer = run_blocking(move || Ok(look_up(&owned, asked, carriage))).await;
    let answer = answer.unwrap_or_else(|error| Ok(unknown(id, &error.to_string())))?;
    Ok(serde_json::to_value(answer).expect("a status serialises"))
}

/// Builds the answer. It includes the spool's id, except for an entry that exists but gives no
/// status: "unknown" with the id means that the transaction was never seen.
fn look_up(
    shared: &ActionEngineState,
    id: TransactionId,
    carriage: OutputEncoding,
) -> Result<StatusResult, OutputTooLarge> {
    let mut answer = look_without_id(shared, id.clone(), carriage)?;
    // The id is read last: if entries had been removed before, it would have changed by now.
    if answer.status != TransactionStatus::Unknown || shared.spool.find(&id).is_none() {
        answer.spool_id = shared.spool.verified_id();
    }
    Ok(answer)
}

fn look_without_id(
    shared: &ActionEngineState,
    id: TransactionId,
    carriage: OutputEncoding,
) -> Result<StatusResult, OutputTooLarge> {
    let Some(entry) = shared.spool.find(&id) else {
        // An active transaction whose record is not written yet, or whose sender waits for its
        // result.
        return Ok(if shared.transactions.is_active(&id) {
            StatusResult::new(id, TransactionStatus::Running)
        } else {
            unknown(id, "found no results directory")
        });
    };
    let ended = entry
        .record()
        .and_then(|record| Ok((ActionEnd::read(&entry, &record)?, record)));
    let (end, record) = match ended {
        Ok(read) => read,
        Err(error) if is_damaged(&error) && !shared.transactions.is_active(&id) => {
            return Ok(undetermined(id, describe_unreadable_record(&entry, &error)));
        }
        Err(error) => {
            let why = format!("the record in the spool is unusable: {error}");
            return Ok(unknown(id, &why));
        }
    };
    if matches!(end, Some(ActionEnd::Exit(_)))
        && shared.transactions.is_active(&id)
        && let Err(error) = entry.sync()
    {
        // The end is reported anyway, like the outcome.
        tracing::error!(transaction_id = %id, %error, "cannot put the end of an action on disk");
    }
    Ok(match end {
        Some(ActionEnd::Exit(exit)) => match action_result(&entry, &exit, carriage, &shared.config)
        {
            Ok(Err(too_large)) => return Err(too_large),
            Ok(Ok(mut result)) => {
                if record.result_kind() == ResultKind::Puppet && exit.error.is_none() {
                    let loss = exit
                        .loss
                        .map(|loss| loss.describe(&shared.config.spool_dir));
                    say_puppet(
                        &mut result,
                        &result_of(entry.path(), &exit, loss.as_deref()),
                    );
                }
                let error = exit.error.or(record.execution_error);
                finished(id, &mut result, error.as_deref())
            }
            Err(error) => unknown(id, &format!("cannot read the result: {error}")),
        },
        Some(ActionEnd::Undetermined(why)) => undetermined(id, why),
        None if shared.transactions.is_active(&id) => {
            let mut status = StatusResult::new(id, TransactionStatus::Running);
            status.waiting = WaitingFor::read(entry.path()).map(|it| it.to_string());
            status
        }
        None => unknown(id, &unknown_outcome_text("the agent no longer watches it")),
    })
}

/// Reports the result of a Puppet run instead of its output, as pxp-module-puppet does.
fn say_puppet(result: &mut ActionResult, puppet: &PuppetResult) {
    result.stdout = Some(status_text(puppet));
    result.stderr = None;
    result.stdout_base64 = None;
    result.stderr_base64 = None;
    result.stdout_truncated = false;
    result.stderr_truncated = false;
    result.stdout_bytes = None;
    result.stderr_bytes = None;
}

fn finished(id: TransactionId, result: &mut ActionResult, error: Option<&str>) -> StatusResult {
    let Some(error) = error else {
        return StatusResult::finished(id, result.clone());
    };
    result.stdout = Some(error_text(error));
    result.stdout_base64 = None;
    let mut status = StatusResult::finished(id, result.clone());
    status.status = TransactionStatus::Failure;
    status
}

fn unknown(id: TransactionId, why: &str) -> StatusResult {
    let mut status = StatusResult::new(id, TransactionStatus::Unknown);
    status.stdout = Some(error_text(why));
    status
}

/// Status "unknown" that will not change: the requester need not query again.
fn undetermined(id: TransactionId, why: String) -> StatusResult {
    let mut status = unknown(id, &why);
    status.undetermined = Some(why);
    status
}

fn error_text(message: &str) -> String {
    let kind = "puppetlabs.pxp-agent/execution-error";
    json!({ "_error": { "kind": kind, "details": {}, "msg": message } }).to_string()
}
