//! Entries of the audit chain: [`NewAudit`], and the hash that ties each to the one before.
//!
//! The rule: what is hashed is exactly what stands in the row, every column of it, so whoever has
//! the rows can compute the chain again.

use sha2::{Digest, Sha256};

use crate::ledger::Ledger;
use crate::step::Step;
use crate::value::{Value, without_nul};

/// The encoding that [`NewAudit::hash`] writes. A change of it or of the columns is a new number.
pub const AUDIT_VERSION: i64 = 1;

/// An entry to be written. Texts are whatever the caller says; a NUL in them becomes `␀`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAudit {
    /// When.
    pub at_ms: i64,
    /// `intent`, `result`, `login`, `denied`, `event` or `checkpoint`.
    pub phase: String,
    /// Of a result: the entry that announced it.
    pub intent: Option<i64>,
    /// `users`, `certificates`, `server` or `anonymous`.
    pub actor_type: String,
    /// A user's UUID, a certname; may be empty.
    pub actor_id: String,
    /// A login, a certname; may be empty.
    pub actor_name: String,
    /// From where, where known.
    pub address: Option<String>,
    /// `orchestrator`, `rbac`, …
    pub service: String,
    /// What was asked for, for example `command_task`.
    pub action: String,
    /// On what kind of thing; may be empty.
    pub object_type: String,
    /// On which.
    pub object_id: String,
    /// Its name for people.
    pub object_name: String,
    /// Method and path, with the variable parts as they are in the API's list.
    pub route: String,
    /// `allowed` or `denied`.
    pub decision: String,
    /// The permission that was asked for.
    pub permission: Option<String>,
    /// Of a result: the HTTP status.
    pub status: Option<i64>,
    /// How often it happened; 1, but for refusals that are counted together.
    pub times: i64,
    /// JSON.
    pub details: String,
}

/// The place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditMark {
    /// Its number, from 1, without gaps.
    pub seq: i64,
    /// Its hash.
    pub hash: [u8; 32],
}

const INSERT: &str = "INSERT INTO audit (seq, version, at_ms, phase, intent, actor_type, actor_id, \
     actor_name, address, service, action, object_type, object_id, object_name, route, decision, \
     permission, status, times, details, prev, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, \
     $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

pub(crate) const STATEMENTS: &[&str] = &[INSERT];

/// Appends one entry to the chain whose head the ledger holds.
pub(crate) fn plan_append<'a>(
    entry: &'a NewAudit,
    ledger: &mut Ledger,
    steps: &mut Vec<Step<'a>>,
) -> AuditMark {
    let (seq, prev) = (ledger.audit + 1, ledger.audit_hash);
    let hash = entry.hash(AUDIT_VERSION, seq, &prev);
    let owned = |hash: [u8; 32]| Value::Blob(hash.to_vec().into());
    let mut values = vec![Value::Int(seq), Value::Int(AUDIT_VERSION)];
    values.extend(entry.columns());
    values.extend([owned(prev), owned(hash)]);
    steps.push(Step {
        sql: INSERT,
        values,
    });
    (ledger.audit, ledger.audit_hash) = (seq, hash);
    AuditMark { seq, hash }
}

// === impl NewAudit ===

impl NewAudit {
    /// The columns of its own, in the order of the table.
    fn columns(&self) -> [Value<'_>; 18] {
        [
            Value::Int(self.at_ms),
            Value::text(&self.phase),
            Value::opt_int(self.intent),
            Value::text(&self.actor_type),
            Value::text(&self.actor_id),
            Value::text(&self.actor_name),
            Value::opt_text(self.address.as_deref()),
            Value::text(&self.service),
            Value::text(&self.action),
            Value::text(&self.object_type),
            Value::text(&self.object_id),
            Value::text(&self.object_name),
            Value::text(&self.route),
            Value::text(&self.decision),
            Value::opt_text(self.permission.as_deref()),
            Value::opt_int(self.status),
            Value::Int(self.times),
            Value::text(&self.details),
        ]
    }

    /// SHA-256 over the text `tutti audit`, a zero byte, and the fields: `version`, `seq`, `prev`
    /// and then the columns in the order of the table. Each field is a byte for its kind (0 null,
    /// 1 number, 2 text, 3 bytes) and, for a number, its 8 bytes; for text and bytes, their length
    /// in 8 bytes and they themselves. Numbers are big-endian.
    pub fn hash(&self, version: i64, seq: i64, prev: &[u8; 32]) -> [u8; 32] {
        let mut sha = Sha256::new();
        sha.update(b"tutti audit\0");
        for field in [Value::Int(version), Value::Int(seq), Value::blob(prev)] {
            feed(&mut sha, &field);
        }
        for field in self.columns() {
            feed(&mut sha, &field);
        }
        sha.finalize().into()
    }

    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.actor_name, &self.object_id, &self.object_name];
        self.details.len() + texts.iter().map(|text| text.len()).sum::<usize>()
    }
}

fn feed(sha: &mut Sha256, field: &Value<'_>) {
    let mut long = |kind: u8, bytes: &[u8]| {
        sha.update([kind]);
        sha.update((bytes.len() as u64).to_be_bytes());
        sha.update(bytes);
    };
    match field {
        // `columns` has done it for what it writes; what was read back has none.
        Value::Text(text) => long(2, without_nul(text).as_bytes()),
        Value::Blob(bytes) => long(3, bytes),
        Value::Null => sha.update([0]),
        Value::Int(number) => {
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
        // Computed by hand with another program, see the description of `hash`.
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
