//! Entries of the audit chain: [`NewAudit`], and the hash that links each entry to the previous
//! one.
//!
//! Invariant: the hash covers exactly the stored row with every column, so the chain can be
//! recomputed from the rows alone.

use sha2::{Digest, Sha256};

use crate::ledger::NumberLedger;
use crate::statement::SqlStatement;
use crate::value::{SqlValue, replace_nul};

/// Version of the encoding that [`NewAudit::hash`] writes. A change of the encoding or of the
/// columns requires a new version.
pub const AUDIT_VERSION: i64 = 1;

/// An entry that is not written yet. Texts are not restricted; a NUL in them becomes `␀`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAudit {
    /// Time of the entry in milliseconds since 1970.
    pub at_ms: i64,
    /// Phase: `intent`, `result`, `login`, `denied`, `event` or `checkpoint`.
    pub phase: String,
    /// Number of the entry that announced the command; only for a result.
    pub intent: Option<i64>,
    /// Type of the actor: `users`, `certificates`, `server` or `anonymous`.
    pub actor_type: String,
    /// UUID of a user, or a certname; may be empty.
    pub actor_id: String,
    /// Login of a user, or a certname; may be empty.
    pub actor_name: String,
    /// Address that the request came from, if it is known.
    pub address: Option<String>,
    /// Service that handled the request, such as `orchestrator` or `rbac`.
    pub service: String,
    /// Requested action, for example `command_task`.
    pub action: String,
    /// Type of the object; may be empty.
    pub object_type: String,
    /// Id of the object; may be empty.
    pub object_id: String,
    /// Name of the object shown to users.
    pub object_name: String,
    /// Method and path, with the variable parts named as in the list of the API.
    pub route: String,
    /// Decision: `allowed` or `denied`.
    pub decision: String,
    /// The permission that was required.
    pub permission: Option<String>,
    /// HTTP status of the reply; `None` if there is none, as before the reply.
    pub status: Option<i64>,
    /// Number of occurrences: 1, except for refusals that are counted together.
    pub times: i64,
    /// Details of the request, as JSON.
    pub details: String,
}

/// The position and hash of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditPosition {
    /// Position in the chain, counted from 1 without gaps.
    pub seq: i64,
    /// Hash of the entry.
    pub hash: [u8; 32],
}

const INSERT: &str = "INSERT INTO audit (seq, version, at_ms, phase, intent, actor_type, actor_id, \
     actor_name, address, service, action, object_type, object_id, object_name, route, decision, \
     permission, status, times, details, prev, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, \
     $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

pub(crate) const STATEMENTS: &[&str] = &[INSERT];

/// Appends one entry to the chain whose last entry is in the ledger.
pub(crate) fn plan_append<'a>(
    entry: &'a NewAudit,
    ledger: &mut NumberLedger,
    steps: &mut Vec<SqlStatement<'a>>,
) -> AuditPosition {
    let (seq, prev) = (ledger.audit + 1, ledger.audit_hash);
    let hash = entry.hash(AUDIT_VERSION, seq, &prev);
    let owned = |hash: [u8; 32]| SqlValue::Blob(hash.to_vec().into());
    let mut values = vec![SqlValue::Int(seq), SqlValue::Int(AUDIT_VERSION)];
    values.extend(entry.columns());
    values.extend([owned(prev), owned(hash)]);
    steps.push(SqlStatement {
        sql: INSERT,
        values,
    });
    (ledger.audit, ledger.audit_hash) = (seq, hash);
    AuditPosition { seq, hash }
}

// === impl NewAudit ===

impl NewAudit {
    /// The columns of the entry's content, in the order of the table.
    fn columns(&self) -> [SqlValue<'_>; 18] {
        [
            SqlValue::Int(self.at_ms),
            SqlValue::text(&self.phase),
            SqlValue::opt_int(self.intent),
            SqlValue::text(&self.actor_type),
            SqlValue::text(&self.actor_id),
            SqlValue::text(&self.actor_name),
            SqlValue::opt_text(self.address.as_deref()),
            SqlValue::text(&self.service),
            SqlValue::text(&self.action),
            SqlValue::text(&self.object_type),
            SqlValue::text(&self.object_id),
            SqlValue::text(&self.object_name),
            SqlValue::text(&self.route),
            SqlValue::text(&self.decision),
            SqlValue::opt_text(self.permission.as_deref()),
            SqlValue::opt_int(self.status),
            SqlValue::Int(self.times),
            SqlValue::text(&self.details),
        ]
    }

    /// SHA-256 over the text `tutti audit`, a zero byte, and the fields: `version`, `seq`, `prev`
    /// and then the columns in the order of the table. Each field starts with a byte for its kind
    /// (0 null, 1 number, 2 text, 3 bytes). A number follows as 8 bytes; text and bytes follow as
    /// their length in 8 bytes and their content. Numbers are big-endian.
    pub fn hash(&self, version: i64, seq: i64, prev: &[u8; 32]) -> [u8; 32] {
        let mut sha = Sha256::new();
        sha.update(b"tutti audit\0");
        for field in [
            SqlValue::Int(version),
            SqlValue::Int(seq),
            SqlValue::blob(prev),
        ] {
            hash_field(&mut sha, &field);
        }
        for field in self.columns() {
            hash_field(&mut sha, &field);
        }
        sha.finalize().into()
    }

    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.actor_name, &self.object_id, &self.object_name];
        self.details.len() + texts.iter().map(|text| text.len()).sum::<usize>()
    }
}

fn hash_field(sha: &mut Sha256, field: &SqlValue<'_>) {
    let mut long = |kind: u8, bytes: &[u8]| {
        sha.update([kind]);
        sha.update((bytes.len() as u64).to_be_bytes());
        sha.update(bytes);
    };
    match field {
        // `columns` has replaced the NULs of new entries; stored entries have none.
        SqlValue::Text(text) => long(2, replace_nul(text).as_bytes()),
        SqlValue::Blob(bytes) => long(3, bytes),
        SqlValue::Null => sha.update([0]),
        SqlValue::Int(number) => {
            sha.update([1]);
            sha.update(number.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> NewAudit {
        NewAudit {
            at_ms: 1_000,
            phase: "intent".to_owned(),
            actor_type: "users".to_owned(),
            actor_name: "admin".to_owned(),
            action: "command_task".to_owned(),
            times: 1,
            details: "{}".to_owned(),
            ..NewAudit::default()
        }
    }

    fn hex(hash: [u8; 32]) -> String {
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_encoding_is_pinned() {
        // Computed independently with another program, see the documentation of `hash`.
        assert_eq!(
            hex(entry().hash(1, 7, &[9; 32])),
            "f1cb733fa075eb353217517f91acb785e63d86ec9c4c002fbd49fe15811a9288"
        );
    }

    #[test]
    fn a_text_that_moves_into_the_next_field_changes_the_hash() {
        let (mut a, mut b) = (entry(), entry());
        (a.actor_id, a.actor_name) = ("ab".to_owned(), "c".to_owned());
        (b.actor_id, b.actor_name) = ("a".to_owned(), "bc".to_owned());
        assert_ne!(a.hash(1, 1, &[0; 32]), b.hash(1, 1, &[0; 32]));
        let (mut none, mut empty) = (entry(), entry());
        (none.permission, empty.permission) = (None, Some(String::new()));
        assert_ne!(none.hash(1, 1, &[0; 32]), empty.hash(1, 1, &[0; 32]));
    }

    #[test]
    fn what_is_hashed_is_what_is_stored() {
        let mut given = entry();
        given.object_name = "a\0b".to_owned();
        let mut stored = entry();
        stored.object_name = "a\u{2400}b".to_owned();
        assert_eq!(given.hash(1, 1, &[0; 32]), stored.hash(1, 1, &[0; 32]));
    }
}
