//! The audit chain: appending to it, reading it, and deleting its oldest entries.
//!
//! [`AuditRow`] is a stored entry. Invariant: entries are only appended. The one statement that
//! deletes removes the oldest entries, and its caller first appends an entry that records the
//! position and hash of the cut.

use crate::StoreError;
use crate::ledger::{self, NumberLedger};
use crate::page::ListPage;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};
use crate::write::{StoreWrite, WriteResult};
use crate::writing::audit::{AuditPosition, NewAudit};

/// A stored entry of the audit chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Position in the chain, counted from 1 without gaps.
    pub seq: i64,
    /// Version of the encoding that was hashed.
    pub version: i64,
    /// Content of the entry.
    pub entry: NewAudit,
    /// Hash of the previous entry; zeroes for the first entry.
    pub prev: [u8; 32],
    /// Hash of this entry.
    pub hash: [u8; 32],
}

/// Filter of a list of entries; an empty field matches every entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Service that handled the request, such as `orchestrator`.
    pub service: Option<String>,
    /// Type of the actor, such as `users`.
    pub actor_type: Option<String>,
    /// Ids of actors, of which an entry matches one.
    pub actor_ids: Vec<String>,
    /// Type of the object, such as `job`.
    pub object_type: Option<String>,
    /// Ids of objects, of which an entry matches one.
    pub object_ids: Vec<String>,
    /// Address that the request came from.
    pub address: Option<String>,
    /// Earliest time, inclusive, in milliseconds since 1970.
    pub start_ms: Option<i64>,
    /// Latest time, inclusive, in milliseconds since 1970.
    pub end_ms: Option<i64>,
    /// True to list the newest entries first.
    pub descending: bool,
}

macro_rules! columns {
    () => {
        "seq, version, at_ms, phase, intent, actor_type, actor_id, actor_name, address, service, \
         action, object_type, object_id, object_name, route, decision, permission, status, times, \
         details, prev, hash"
    };
}

/// A list of ids is passed as `,a,,b,,`, so an id that contains a comma is never found. Entries
/// that announce a command are left out, since the entry with its result contains the same and
/// more.
macro_rules! matching {
    () => {
        " FROM audit WHERE phase <> 'intent' \
         AND (CAST($1 AS TEXT) IS NULL OR service = $1) \
         AND (CAST($2 AS TEXT) IS NULL OR actor_type = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR replace($3, ',' || actor_id || ',', '') <> $3) \
         AND (CAST($4 AS TEXT) IS NULL OR object_type = $4) \
         AND (CAST($5 AS TEXT) IS NULL OR replace($5, ',' || object_id || ',', '') <> $5) \
         AND (CAST($6 AS TEXT) IS NULL OR address = $6) \
         AND at_ms >= $7 AND at_ms <= $8"
    };
}

const COUNT: &str = concat!("SELECT COUNT(*)", matching!());
const ASCENDING: &str = concat!(
    "SELECT ",
    columns!(),
    matching!(),
    " ORDER BY seq LIMIT $9 OFFSET $10"
);
const DESCENDING: &str = concat!(
    "SELECT ",
    columns!(),
    matching!(),
    " ORDER BY seq DESC LIMIT $9 OFFSET $10"
);
const FROM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM audit WHERE seq >= $1 ORDER BY seq LIMIT $2"
);
const LAST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM audit ORDER BY seq DESC LIMIT 1"
);
const CHECKPOINT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM audit WHERE phase = 'checkpoint' ORDER BY seq DESC LIMIT 1"
);
/// The last of the oldest entries that may be deleted: all entries after it are younger.
const OLDER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM audit WHERE seq < (SELECT seq FROM audit WHERE at_ms >= $1 ORDER BY seq LIMIT 1) \
     ORDER BY seq DESC LIMIT 1"
);
const DELETE: &str = "DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE seq <= $1 \
     ORDER BY seq LIMIT $2)";

pub(crate) const STATEMENTS: &[&str] = &[
    COUNT, ASCENDING, DESCENDING, FROM, LAST, CHECKPOINT, OLDER, DELETE,
];

// === impl Store ===

impl Store {
    /// Appends entries to the chain and waits until they are durable: all of them or, on an error,
    /// none. Returns their positions and hashes.
    pub async fn append_audit(
        &self,
        entries: Vec<NewAudit>,
    ) -> Result<Vec<AuditPosition>, StoreError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        match self.write(StoreWrite::Audit(entries)).await? {
            WriteResult::Audit(marks) => Ok(marks),
            other => unreachable!("audit entries are answered with their places, not {other:?}"),
        }
    }

    /// The last entry according to the ledger; number 0 and a hash of zeroes before the first
    /// entry.
    pub async fn audit_head(&self) -> Result<AuditPosition, StoreError> {
        let ledger: Option<NumberLedger> = self.query_one(ledger::READ, Vec::new()).await?;
        Ok(ledger.map_or(NO_ENTRY, |ledger| AuditPosition {
            seq: ledger.audit,
            hash: ledger.audit_hash,
        }))
    }

    /// At most `limit` entries from `seq` on, in ascending order.
    pub async fn audit_entries(&self, seq: i64, limit: u64) -> Result<Vec<AuditRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query(FROM, vec![SqlValue::Int(seq), SqlValue::Int(limit)])
            .await
    }

    /// The last stored entry.
    pub async fn last_audit_entry(&self) -> Result<Option<AuditRow>, StoreError> {
        self.query_one(LAST, Vec::new()).await
    }

    /// The last entry that records a deletion of old entries.
    pub async fn last_audit_checkpoint(&self) -> Result<Option<AuditRow>, StoreError> {
        self.query_one(CHECKPOINT, Vec::new()).await
    }

    /// The last of the oldest entries that were written before `at_ms`; `None` also when no other
    /// entry would remain.
    pub async fn last_audit_entry_before(
        &self,
        at_ms: i64,
    ) -> Result<Option<AuditRow>, StoreError> {
        self.query_one(OLDER, vec![SqlValue::Int(at_ms)]).await
    }

    /// Deletes at most `limit` of the oldest entries, none after `seq`. Returns the number deleted.
    pub async fn delete_audit_entries(&self, seq: i64, limit: u64) -> Result<u64, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = vec![SqlValue::Int(seq), SqlValue::Int(limit)];
        self.execute(SqlStatement {
            sql: DELETE,
            values,
        })
        .await
    }

    /// One page of the matching entries and their total number, without those of phase `intent`.
    pub async fn audit_list(
        &self,
        filter: &AuditFilter,
        page: ListPage,
    ) -> Result<(Vec<AuditRow>, u64), StoreError> {
        let counted: Option<i64> = self.query_one(COUNT, filter.values()).await?;
        let mut values = filter.values();
        values.extend([
            SqlValue::Int(page.limit_column()),
            SqlValue::Int(page.offset_column()),
        ]);
        let sql = if filter.descending {
            DESCENDING
        } else {
            ASCENDING
        };
        let rows = self.query(sql, values).await?;
        Ok((rows, counted.map_or(0, i64::unsigned_abs)))
    }
}

const NO_ENTRY: AuditPosition = AuditPosition {
    seq: 0,
    hash: [0; 32],
};

impl AuditFilter {
    fn values(&self) -> Vec<SqlValue<'static>> {
        let list = |ids: &[String]| match ids {
            [] => SqlValue::Null,
            ids => {
                let one = ids.iter().filter(|id| !id.contains(','));
                let joined: String = one.map(|id| format!("{id},,")).collect();
                SqlValue::owned_text(&format!(",{joined}"))
            }
        };
        vec![
            SqlValue::opt_owned_text(self.service.as_deref()),
            SqlValue::opt_owned_text(self.actor_type.as_deref()),
            list(&self.actor_ids),
            SqlValue::opt_owned_text(self.object_type.as_deref()),
            list(&self.object_ids),
            SqlValue::opt_owned_text(self.address.as_deref()),
            SqlValue::Int(self.start_ms.unwrap_or(i64::MIN)),
            SqlValue::Int(self.end_ms.unwrap_or(i64::MAX)),
        ]
    }
}

// === impl AuditRow ===

impl AuditRow {
    /// The hash computed from the entry's content.
    pub fn computed_hash(&self) -> [u8; 32] {
        self.entry.hash(self.version, self.seq, &self.prev)
    }
}

impl FromRow for AuditRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            seq: row.int(0)?,
            version: row.int(1)?,
            entry: NewAudit {
                at_ms: row.int(2)?,
                phase: row.text(3)?,
                intent: row.opt_int(4)?,
                actor_type: row.text(5)?,
                actor_id: row.text(6)?,
                actor_name: row.text(7)?,
                address: row.opt_text(8)?,
                service: row.text(9)?,
                action: row.text(10)?,
                object_type: row.text(11)?,
                object_id: row.text(12)?,
                object_name: row.text(13)?,
                route: row.text(14)?,
                decision: row.text(15)?,
                permission: row.opt_text(16)?,
                status: row.opt_int(17)?,
                times: row.int(18)?,
                details: row.text(19)?,
            },
            prev: row.hash(20)?,
            hash: row.hash(21)?,
        })
    }
}
