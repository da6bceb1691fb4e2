//! `GET /audit/v1/entries`: the entries of the audit log with their hash chain.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;
use crate::defaults::{AUDIT_ENTRIES, AUDIT_ENTRIES_MAX};
use crate::parameters::Parameters;

/// Consecutive entries of the audit log, and the head of the hash chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntries {
    /// Last entry of the chain, read after `items`.
    pub head: AuditHead,
    /// Chain heads that the server keeps in a file beside the database; absent if no such file is
    /// configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptAuditHeads>,
    /// Entries in ascending order; empty if there are no further entries.
    pub items: Vec<AuditEntry>,
}

/// Last entry of the hash chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditHead {
    /// Number of the entry; 0 if the chain is empty.
    pub seq: i64,
    /// Hash of the entry, as 64 hexadecimal digits.
    pub hash: String,
}

/// Chain heads from the file beside the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptAuditHeads {
    /// Newest head in the file; `null` if the file is missing or cannot be read.
    pub head: Option<AuditHead>,
    /// Heads that the chain once contradicted, kept as evidence.
    pub contradicted: Vec<AuditHead>,
}

/// One entry of the audit log. The hash covers every field except `hash`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Number of the entry, counted from 1 without gaps.
    pub seq: i64,
    /// Version of the encoding over which the hash was computed.
    pub version: i64,
    /// Time of the entry, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// `intent`, `result`, `login`, `denied`, `event` or `checkpoint`.
    pub phase: String,
    /// Number of the intent entry that this result belongs to; null for other phases.
    pub intent: Option<i64>,
    /// `users`, `certificates`, `server` or `anonymous`.
    pub actor_type: String,
    /// UUID of the user, or certname of the program; may be empty.
    pub actor_id: String,
    /// Login of the user, or name of the program; may be empty.
    pub actor_name: String,
    /// Address from which the request came; null if it is unknown.
    pub address: Option<String>,
    /// Service that handled the request: `orchestrator`, `rbac`, …
    pub service: String,
    /// Operation id, for example `command_task`.
    pub action: String,
    /// Type of the object, for example `job`.
    pub object_type: String,
    /// Id of the object; may be empty.
    pub object_id: String,
    /// Name of the object; may be empty.
    pub object_name: String,
    /// HTTP method and path of the request.
    pub route: String,
    /// Authorization decision: `allowed` or `denied`.
    pub decision: String,
    /// Permission that the request needed; null if it needed none.
    pub permission: Option<String>,
    /// HTTP status of the reply; null if there is none, as in the phase `intent`.
    pub status: Option<i64>,
    /// Number of denied requests that this entry stands for; 1 otherwise.
    pub times: i64,
    /// Details as the JSON text that the hash covers.
    pub details: String,
    /// Hash of the previous entry, as 64 hexadecimal digits.
    pub prev: String,
    /// Hash of this entry, as 64 hexadecimal digits.
    pub hash: String,
}

/// The query of `GET /audit/v1/entries`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Number of the first entry, inclusive.
    pub start: i64,
    /// Largest number of entries to return.
    pub limit: u64,
}

impl AuditQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let start = given.number("start")?.unwrap_or(0);
        let limit = given.number("limit")?.unwrap_or(AUDIT_ENTRIES);
        given.finish()?;
        if limit > AUDIT_ENTRIES_MAX {
            let what = format!("at most {AUDIT_ENTRIES_MAX} entries at a time");
            return Err(ApiError::invalid("limit", what));
        }
        Ok(Self {
            start: i64::try_from(start).unwrap_or(i64::MAX),
            limit,
        })
    }
}
