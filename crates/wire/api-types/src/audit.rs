//! `GET /audit/v1/entries`: the audit as it is chained.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;
use crate::defaults::{AUDIT_ENTRIES, AUDIT_ENTRIES_MAX};
use crate::parameters::Parameters;

/// Some entries, and the head of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntries {
    /// The last entry of the chain, as it was after `items` were read.
    pub head: AuditHead,
    /// Heads of the chain in the server's file beside the database; absent if there is no such
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptAuditHeads>,
    /// Entries in their order; none: there are no more.
    pub items: Vec<AuditEntry>,
}

/// The last entry of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditHead {
    /// Its number; 0: there is none.
    pub seq: i64,
    /// Its hash, as 64 hexadecimal digits.
    pub hash: String,
}

/// Heads of the chain that stand beside the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptAuditHeads {
    /// The last that was kept; `null`: the file is missing.
    pub head: Option<AuditHead>,
    /// Those that the chain contradicted once and that are still there as evidence.
    pub contradicted: Vec<AuditHead>,
}

/// One entry. Every field but `hash` is part of what is hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Its number, from 1, without gaps.
    pub seq: i64,
    /// The encoding that was hashed.
    pub version: i64,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// `intent`, `result`, `login`, `denied`, `event` or `checkpoint`.
    pub phase: String,
    /// Of a result: the entry that announced it.
    pub intent: Option<i64>,
    /// `users`, `certificates`, `server` or `anonymous`.
    pub actor_type: String,
    /// A user's UUID or a certname.
    pub actor_id: String,
    /// A login or a certname.
    pub actor_name: String,
    /// From where.
    pub address: Option<String>,
    /// `orchestrator`, `rbac`, …
    pub service: String,
    /// For example `command_task`.
    pub action: String,
    /// For example `job`.
    pub object_type: String,
    /// Its id.
    pub object_id: String,
    /// Its name.
    pub object_name: String,
    /// Method and path.
    pub route: String,
    /// `allowed` or `denied`.
    pub decision: String,
    /// The permission that it took.
    pub permission: Option<String>,
    /// Of a result: the HTTP status.
    pub status: Option<i64>,
    /// How often, for refusals that are counted together.
    pub times: i64,
    /// JSON, as the text that is hashed.
    pub details: String,
    /// The hash of the entry before.
    pub prev: String,
    /// Its own.
    pub hash: String,
}

/// The query of `GET /audit/v1/entries`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// The first entry, inclusive.
    pub start: i64,
    /// How many at most.
    pub limit: u64,
}

impl AuditQuery {
    /// From query parameters.
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
