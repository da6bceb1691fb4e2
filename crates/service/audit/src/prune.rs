//! Deletes entries that have exceeded their retention time: [`prune`].
//!
//! Invariant: first a checkpoint entry records the last entry to be deleted, with its hash; then
//! the entries are deleted. A chain without its oldest entries can be verified, and the chain
//! itself records that it was cut.

use std::time::Duration;

use serde_json::{Map, Value};
use store::{AuditRow, Store, now_ms};

use crate::AuditError;
use crate::action::{AuditActor, AuditOutcome, AuditPhase, AuditedAction};
use crate::defaults::PRUNE_ROWS;
use crate::head::HexHash;
use crate::verify::PruneCheckpoint;

/// Deletes the entries that are older than `keep`; returns their number. If the future is dropped,
/// the next call deletes the rest. Must not run twice at the same time.
pub async fn prune(store: &Store, keep: Duration) -> Result<u64, AuditError> {
    let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    let before_ms = now_ms().saturating_sub(keep_ms);
    let last = store.last_audit_entry_before(before_ms).await;
    let checkpoint = store.last_audit_checkpoint().await;
    let told = checkpoint.map_err(AuditError::Read)?;
    let told = told.map_or(0, |row| pruned_through(&row));
    let last = last.map_err(AuditError::Read)?;
    let through = match last.filter(|row| row.seq > told) {
        Some(last) => {
            let appended = store.append_audit(vec![checkpoint_entry(&last)]).await;
            appended.map_err(AuditError::Write)?;
            last.seq
        }
        // Entries that an earlier call left.
        None => told,
    };
    let mut deleted = 0;
    loop {
        let rows = store.delete_audit_entries(through, PRUNE_ROWS).await;
        match rows.map_err(AuditError::Write)? {
            0 => return Ok(deleted),
            rows => deleted += rows,
        }
    }
}

/// Number of the last entry that a checkpoint records as pruned.
pub(crate) fn pruned_through(row: &AuditRow) -> i64 {
    serde_json::from_str::<PruneCheckpoint>(&row.entry.details).map_or(0, |told| told.through)
}

fn checkpoint_entry(last: &AuditRow) -> store::NewAudit {
    let told = PruneCheckpoint {
        through: last.seq,
        hash: HexHash(last.hash).to_string(),
    };
    let details: Map<String, Value> = match serde_json::json!(told) {
        Value::Object(details) => details,
        _ => Map::new(),
    };
    let act = AuditedAction {
        actor: AuditActor::server(),
        service: "audit".to_owned(),
        action: "prune".to_owned(),
        details,
        ..AuditedAction::default()
    };
    act.to_entry(AuditPhase::Checkpoint, &AuditOutcome::default(), now_ms())
}
