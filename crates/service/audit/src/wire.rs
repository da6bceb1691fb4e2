//! Converts entries to the API's form and back: [`to_api_entry`], [`to_row`].
//!
//! Invariant: the conversion is lossless, so a client can compute the hashes itself.

use api_types::audit::{AuditEntry, AuditHead};
use store::{AuditRow, NewAudit};

use crate::head::{ChainHead, HexHash, InvalidHash};

/// Converts a row into the API's form.
pub fn to_api_entry(row: AuditRow) -> AuditEntry {
    let entry = row.entry;
    AuditEntry {
        seq: row.seq,
        version: row.version,
        at_ms: entry.at_ms,
        phase: entry.phase,
        intent: entry.intent,
        actor_type: entry.actor_type,
        actor_id: entry.actor_id,
        actor_name: entry.actor_name,
        address: entry.address,
        service: entry.service,
        action: entry.action,
        object_type: entry.object_type,
        object_id: entry.object_id,
        object_name: entry.object_name,
        route: entry.route,
        decision: entry.decision,
        permission: entry.permission,
        status: entry.status,
        times: entry.times,
        details: entry.details,
        prev: HexHash(row.prev).to_string(),
        hash: HexHash(row.hash).to_string(),
    }
}

/// Converts an entry from the API's form into a row.
pub fn to_row(entry: AuditEntry) -> Result<AuditRow, InvalidHash> {
    let (HexHash(prev), HexHash(hash)) = (entry.prev.parse()?, entry.hash.parse()?);
    Ok(AuditRow {
        seq: entry.seq,
        version: entry.version,
        entry: NewAudit {
            at_ms: entry.at_ms,
            phase: entry.phase,
            intent: entry.intent,
            actor_type: entry.actor_type,
            actor_id: entry.actor_id,
            actor_name: entry.actor_name,
            address: entry.address,
            service: entry.service,
            action: entry.action,
            object_type: entry.object_type,
            object_id: entry.object_id,
            object_name: entry.object_name,
            route: entry.route,
            decision: entry.decision,
            permission: entry.permission,
            status: entry.status,
            times: entry.times,
            details: entry.details,
        },
        prev,
        hash,
    })
}

/// Converts the head from the API's form.
pub fn to_head(head: &AuditHead) -> Result<ChainHead, InvalidHash> {
    let HexHash(hash) = head.hash.parse()?;
    Ok(ChainHead {
        seq: head.seq,
        hash,
    })
}
