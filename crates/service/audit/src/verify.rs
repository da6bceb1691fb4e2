//! Verifies a chain without I/O: [`ChainVerifier`] receives one entry after the other.
//!
//! Invariant: no row is trusted. Each hash is computed again; each entry has to follow the one
//! before; and the beginning and the end of the chain have to match a checkpoint and the heads
//! that were kept outside of the chain. Memory is bounded for a chain of any length.

use std::collections::BTreeSet;

use serde::Deserialize;
use store::{AUDIT_VERSION, AuditRow};

use crate::defaults::{NAMED_INTENTS, OPEN_INTENTS};
use crate::head::{ChainHead, HexHash};

/// Facts about the chain that were kept outside of it.
#[derive(Clone, Debug, Default)]
pub struct ExpectedChain {
    /// Former heads of the chain: entries that must still exist, or have been pruned.
    pub heads: Vec<ChainHead>,
    /// A hash that one of the entries must have; `None` to skip this check.
    pub hash: Option<[u8; 32]>,
}

/// The first defect of a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// An entry cannot be read.
    #[error("entry {seq} cannot be read: {what}")]
    Unreadable {
        /// Number of the entry.
        seq: i64,
        /// Description of the defect.
        what: String,
    },
    /// An entry was written by a newer program.
    #[error("entry {seq} has the encoding {version}, which this program does not know")]
    Version {
        /// Number of the entry.
        seq: i64,
        /// Version of the entry's encoding.
        version: i64,
    },
    /// The hash of an entry does not match its content.
    #[error("entry {seq} was changed: its hash is not the hash of what it says")]
    Edited {
        /// Number of the entry.
        seq: i64,
    },
    /// Entries are missing.
    #[error("entry {seq} is missing: the next one that is there is {next}")]
    Missing {
        /// Number of the first missing entry.
        seq: i64,
        /// Number of the next existing entry.
        next: i64,
    },
    /// An entry occurs twice, or after a later one.
    #[error("entry {seq} stands after entry {after}")]
    OutOfOrder {
        /// Number of the entry.
        seq: i64,
        /// Number of the entry before it.
        after: i64,
    },
    /// An entry is intact in itself, but belongs to another chain.
    #[error(
        "entry {seq} does not follow the entry before it: one of the two was replaced, moved or \
         put in"
    )]
    Unlinked {
        /// Number of the entry.
        seq: i64,
    },
    /// The oldest entries are missing, and no checkpoint records that they were pruned.
    #[error(
        "the chain begins with entry {first} and no checkpoint says that those before it were \
         pruned"
    )]
    Beginning {
        /// Number of the first existing entry.
        first: i64,
    },
    /// The newest entries are missing.
    #[error("the end was cut off: entry {missing} is missing, and the last one was {head}")]
    End {
        /// Number of the first missing entry.
        missing: i64,
        /// Number of the last entry that existed.
        head: i64,
    },
    /// There are entries after the head of the chain.
    #[error("entry {seq} was put in after the end: the last one that the server wrote is {head}")]
    Beyond {
        /// Number of the first of them.
        seq: i64,
        /// Number of the entry at the head.
        head: i64,
    },
    /// The chain was rewritten.
    #[error(
        "entry {seq} is another one than it was: the chain was written anew at or before this entry"
    )]
    Rewritten {
        /// Number of the entry that differs.
        seq: i64,
    },
    /// No entry has the given hash.
    #[error(
        "no entry has the hash {hash}: the end was cut off, the chain was written anew, or this \
         hash is of another chain"
    )]
    NotThere {
        /// The hash as hexadecimal digits.
        hash: String,
    },
}

/// Summary of an intact chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ChainReport {
    /// Number of the first existing entry; 0 if there is none.
    pub first: i64,
    /// Number of the last entry.
    pub last: i64,
    /// Hash of the last entry, to be kept outside of the server.
    pub head: String,
    /// Number of entries in the chain.
    pub entries: u64,
    /// Number of refusals; those that were counted together count individually.
    pub denied: u64,
    /// Number of announced commands whose result was not recorded.
    pub without_result: u64,
    /// Numbers of the first of these entries.
    pub without_result_first: Vec<i64>,
    /// Number of heads that were not compared because their entries were pruned.
    pub heads_pruned: u64,
    /// Number of the latest entry that a head from outside names: up to it nothing was cut off or
    /// rewritten. 0 if there was nothing to compare with; the rows alone do not show whether their
    /// end is missing.
    pub compared_through: i64,
}

/// A verification in progress, which receives the entries in order.
#[derive(Debug)]
pub struct ChainVerifier {
    expected: ExpectedChain,
    /// Heads in the store itself, which an attacker who changes the store can change too.
    own_heads: Vec<ChainHead>,
    hash_found: bool,
    /// Number of the entry that has the expected hash.
    hash_seq: i64,
    first: Option<(i64, [u8; 32])>,
    last: Option<(i64, [u8; 32])>,
    /// `true` if a checkpoint records that everything before the first entry was pruned.
    begins_rightly: bool,
    open: BTreeSet<i64>,
    open_forgotten: u64,
    report: ChainReport,
}

/// The details of an entry of phase `checkpoint`.
#[derive(serde::Serialize, Deserialize)]
pub(crate) struct PruneCheckpoint {
    /// Number of the last entry that was pruned.
    pub(crate) through: i64,
    /// Hash of that entry.
    pub(crate) hash: String,
}

// === impl ChainVerifier ===

impl ChainVerifier {
    /// Starts a verification before the first entry.
    pub fn new(expected: ExpectedChain) -> Self {
        Self {
            hash_found: expected.hash.is_none(),
            hash_seq: 0,
            expected,
            own_heads: Vec::new(),
            first: None,
            last: None,
            begins_rightly: false,
            open: BTreeSet::new(),
            open_forgotten: 0,
            report: ChainReport::default(),
        }
    }

    /// The required number of the next entry.
    pub fn next_number(&self) -> i64 {
        self.last.map_or(1, |(seq, _)| seq.saturating_add(1))
    }

    /// Adds a head from the store itself.
    pub fn expect(&mut self, head: ChainHead) {
        // Heads of entries that were already verified add no information.
        let last = self.last.map_or(0, |(seq, _)| seq);
        self.own_heads.retain(|head| head.seq > last);
        self.own_heads.push(head);
    }

    /// Adds a head that is kept outside of the store.
    pub fn expect_kept(&mut self, head: ChainHead) {
        self.expected.heads.push(head);
    }

    fn heads(&self) -> impl Iterator<Item = &ChainHead> {
        self.expected.heads.iter().chain(&self.own_heads)
    }

    /// Verifies the next entry.
    pub fn feed(&mut self, row: &AuditRow) -> Result<(), ChainFault> {
        let seq = row.seq;
        if row.version != AUDIT_VERSION {
            let version = row.version;
            return Err(ChainFault::Version { seq, version });
        }
        match self.last {
            None => self.check_first(row)?,
            Some((after, _)) if seq <= after => return Err(ChainFault::OutOfOrder { seq, after }),
            Some((after, _)) if seq > after + 1 => {
                let (seq, next) = (after + 1, seq);
                return Err(ChainFault::Missing { seq, next });
            }
            Some(_) => {}
        }
        if row.computed_hash() != row.hash {
            return Err(ChainFault::Edited { seq });
        }
        if self.last.is_some_and(|(_, hash)| hash != row.prev) {
            return Err(ChainFault::Unlinked { seq });
        }
        if self
            .heads()
            .any(|head| head.seq == seq && head.hash != row.hash)
        {
            return Err(ChainFault::Rewritten { seq });
        }
        if self.expected.hash == Some(row.hash) {
            self.hash_found = true;
            self.hash_seq = seq;
        }
        self.last = Some((seq, row.hash));
        self.count_entry(row);
        Ok(())
    }

    /// Completes the verification after the last entry, with the head in the store at that time.
    pub fn finish(mut self, store_head: ChainHead) -> Result<ChainReport, ChainFault> {
        let (last, hash) = self.last.unwrap_or((0, [0; 32]));
        if store_head.seq < last {
            let (seq, head) = (store_head.seq + 1, store_head.seq);
            return Err(ChainFault::Beyond { seq, head });
        }
        let first = self.first.map_or(1, |(first, _)| first);
        let latest = self.heads().map(|head| head.seq).max();
        if let Some(head) = latest.filter(|head| *head > last) {
            let missing = last + 1;
            return Err(ChainFault::End { missing, head });
        }
        if store_head.seq == last && store_head.hash != hash {
            return Err(ChainFault::Rewritten { seq: last });
        }
        if first > 1 && !self.begins_rightly {
            return Err(ChainFault::Beginning { first });
        }
        if let (false, Some(hash)) = (self.hash_found, self.expected.hash) {
            let hash = HexHash(hash).to_string();
            return Err(ChainFault::NotThere { hash });
        }
        let (pruned, compared): (Vec<&ChainHead>, Vec<&ChainHead>) = (self.expected.heads.iter())
            .filter(|head| head.seq > 0)
            .partition(|head| head.seq < first);
        self.report.heads_pruned = pruned.len() as u64;
        self.report.compared_through = match self.expected.hash {
            Some(_) => self.hash_seq,
            None => 0,
        };
        let latest = compared.iter().map(|head| head.seq).max().unwrap_or(0);
        self.report.compared_through = self.report.compared_through.max(latest);
        self.report.first = self.first.map_or(0, |(first, _)| first);
        self.report.last = last;
        self.report.head = ChainHead { seq: last, hash }.to_string();
        self.report.without_result = self.open.len() as u64 + self.open_forgotten;
        self.report.without_result_first = self.open.iter().take(NAMED_INTENTS).copied().collect();
        Ok(self.report)
    }

    /// The first entry has no predecessor, or the one that a later checkpoint names.
    fn check_first(&mut self, row: &AuditRow) -> Result<(), ChainFault> {
        if row.seq < 1 {
            let (seq, after) = (row.seq, 0);
            return Err(ChainFault::OutOfOrder { seq, after });
        }
        if row.seq == 1 && row.prev != [0; 32] {
            return Err(ChainFault::Unlinked { seq: 1 });
        }
        self.first = Some((row.seq, row.prev));
        Ok(())
    }

    fn count_entry(&mut self, row: &AuditRow) {
        self.report.entries += 1;
        if row.entry.decision == "denied" {
            self.report.denied += row.entry.times.unsigned_abs();
        }
        match row.entry.phase.as_str() {
            "intent" => {
                self.open.insert(row.seq);
                if self.open.len() > OPEN_INTENTS {
                    self.open.pop_first();
                    self.open_forgotten += 1;
                }
            }
            "result" => {
                if let Some(intent) = row.entry.intent {
                    self.open.remove(&intent);
                }
            }
            "checkpoint" => self.apply_checkpoint(&row.entry.details),
            _ => {}
        }
    }

    /// After an interrupted prune, some entries that the checkpoint covers still exist.
    fn apply_checkpoint(&mut self, details: &str) {
        let Ok(told) = serde_json::from_str::<PruneCheckpoint>(details) else {
            return;
        };
        let Some((first, prev)) = self.first else {
            return;
        };
        let before = first - 1;
        self.begins_rightly |= before < told.through
            || (before == told.through && HexHash(prev).to_string() == told.hash);
    }
}
