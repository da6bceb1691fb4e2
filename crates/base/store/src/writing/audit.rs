//! Entries of the audit chain: [`NewAudit`], and the hash that links each entry to the previous
//! one.
//!
//! Invariant: the hash covers exactly the stored row with every column, so the chain can be
//! recomputed from the rows alone.

use sha2::{Digest, Sha256};

use crate::audit_row::{NewAudit, entry_columns};
use crate::ledger::NumberLedger;
use crate::statement::SqlStatement;
use crate::value::{SqlValue, replace_nul, values};

/// Version of the encoding that [`NewAudit::hash`] writes. A change of the encoding or of the
/// columns requires a new version.
pub const AUDIT_VERSION: i64 = 1;

/// The position and hash of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditPosition {
    /// Position in the chain, counted from 1 without gaps.
    pub seq: i64,
    /// Hash of the entry.
    pub hash: [u8; 32],
}

const INSERT: &str = concat!(
    "INSERT INTO audit (seq, version, ",
    entry_columns!(),
    ", prev, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
     $17, $18, $19, $20, $21, $22)"
);

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
    let mut values = values![seq, AUDIT_VERSION, entry];
    values.extend([owned(prev), owned(hash)]);
    steps.push(SqlStatement::new(INSERT, values));
    (ledger.audit, ledger.audit_hash) = (seq, hash);
    AuditPosition { seq, hash }
}

// === impl NewAudit ===

impl NewAudit {
    /// SHA-256 over the text `tutti audit`, a zero byte, and the fields: `version`, `seq`, `prev`
    /// and then the columns in the order of the table. Each field starts with a byte for its kind
    /// (0 null, 1 number, 2 text, 3 bytes). A number follows as 8 bytes; text and bytes follow as
    /// their length in 8 bytes and their content. Numbers are big-endian.
    pub fn hash(&self, version: i64, seq: i64, prev: &[u8; 32]) -> [u8; 32] {
        let mut sha = Sha256::new();
        sha.update(b"tutti audit\0");
        for field in values![version, seq, prev, self] {
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
        // `NewAudit` has replaced the NULs of new entries; stored entries have none.
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
