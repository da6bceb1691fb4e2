//! Whether a chain is whole, without I/O: [`Verifier`] is fed one entry after the other.
//!
//! The rule: it believes no row. Each hash is computed again; each entry has to follow the one
//! before; and where the chain begins and ends has to be what a checkpoint and the heads say that
//! were kept elsewhere. It holds a bounded amount however long the chain is.

use std::collections::BTreeSet;

use serde::Deserialize;
use store::{AUDIT_VERSION, AuditRow};

use crate::defaults::{NAMED_INTENTS, OPEN_INTENTS};
use crate::head::{Head, HexHash};

/// What is known of the chain from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Heads that the chain had once: entries that must still be there, or be cut off by a prune.
    pub heads: Vec<Head>,
    /// A hash that one of the entries must have.
    pub hash: Option<[u8; 32]>,
}

/// What is wrong with a chain, at the first place where something is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Cannot be read at all.
    #[error("entry {seq} cannot be read: {what}")]
    Unreadable {
        /// Which.
        seq: i64,
        /// Why.
        what: String,
    },
    /// Written by a newer program.
    #[error("entry {seq} has the encoding {version}, which this program does not know")]
    Version {
        /// Which.
        seq: i64,
        /// Its encoding.
        version: i64,
    },
    /// Its hash is not the hash of what it says.
    #[error("entry {seq} was changed: its hash is not the hash of what it says")]
    Edited {
        /// Which.
        seq: i64,
    },
    /// A gap.
    #[error("entry {seq} is missing: the next one that is there is {next}")]
    Missing {
        /// The first that is missing.
        seq: i64,
        /// The next that is there.
        next: i64,
    },
    /// Twice, or after a later one.
    #[error("entry {seq} stands after entry {after}")]
    OutOfOrder {
        /// Which.
        seq: i64,
        /// The one before it.
        after: i64,
    },
    /// Whole in itself, and of another chain.
    #[error(
        "entry {seq} does not follow the entry before it: one of the two was replaced, moved or \
         put in"
    )]
    Unlinked {
        /// Which.
        seq: i64,
    },
    /// The oldest entries are gone and nothing says that they were pruned.
    #[error(
        "the chain begins with entry {first} and no checkpoint says that those before it were \
         pruned"
    )]
    Beginning {
        /// The first one.
        first: i64,
    },
    /// The newest entries are gone.
    #[error("the end was cut off: entry {missing} is missing, and the last one was {head}")]
    End {
        /// The first that is missing.
        missing: i64,
        /// The last that there was.
        head: i64,
    },
    /// Entries after the last one.
    #[error("entry {seq} was put in after the end: the last one that the server wrote is {head}")]
    Beyond {
        /// The first one.
        seq: i64,
        /// The last that there is.
        head: i64,
    },
    /// The chain was written anew.
    #[error(
        "entry {seq} is another one than it was: the chain was written anew at or before this entry"
    )]
    Rewritten {
        /// Which.
        seq: i64,
    },
    /// A hash that was given is not there.
    #[error(
        "no entry has the hash {hash}: the end was cut off, the chain was written anew, or this \
         hash is of another chain"
    )]
    NotThere {
        /// As hexadecimal digits.
        hash: String,
    },
}

/// What a whole chain holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The first entry that is there; 0: there is none.
    pub first: i64,
    /// The last one.
    pub last: i64,
    /// The last one's hash; keep it elsewhere.
    pub head: String,
    /// How many there are.
    pub entries: u64,
    /// Refusals, those that were counted together each for itself.
    pub denied: u64,
    /// Commands that were announced and whose result nobody wrote down.
    pub without_result: u64,
    /// The first of them.
    pub without_result_first: Vec<i64>,
    /// Heads that are older than what was kept, and so were not compared.
    pub heads_pruned: u64,
    /// The latest entry that a head from elsewhere names: up to it nothing was cut off or written anew. 0:
    /// there was nothing to compare with, and the rows alone do not say whether their end is missing.
    pub compared_through: i64,
}

/// Goes along a chain.
#[derive(Debug)]
pub struct Verifier {
    expected: Expected,
    /// Heads of the store itself, which an attacker who changes the store can change too.
    own_heads: Vec<Head>,
    hash_found: bool,
    /// The entry that has the expected hash.
    hash_seq: i64,
    first: Option<(i64, [u8; 32])>,
    last: Option<(i64, [u8; 32])>,
    /// Whether a checkpoint says that everything before the first entry was pruned.
    begins_rightly: bool,
    open: BTreeSet<i64>,
    open_forgotten: u64,
    report: Report,
}

/// The details of an entry of phase `checkpoint`.
#[derive(serde::Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// The last entry that was pruned.
    pub(crate) through: i64,
    /// Its hash.
    pub(crate) hash: String,
}

// === impl Verifier ===

impl Verifier {
    /// Before the first entry.
    pub fn new(expected: Expected) -> Self {
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
            report: Report::default(),
        }
    }

    /// The number that the next entry has to have.
    pub fn next(&self) -> i64 {
        self.last.map_or(1, |(seq, _)| seq.saturating_add(1))
    }

    /// One more head that the store itself tells.
    pub fn expect(&mut self, head: Head) {
        // Those that were met already say no more.
        let last = self.last.map_or(0, |(seq, _)| seq);
        self.own_heads.retain(|head| head.seq > last);
        self.own_heads.push(head);
    }

    /// One more head that is kept elsewhere.
    pub fn expect_kept(&mut self, head: Head) {
        self.expected.heads.push(head);
    }

    fn heads(&self) -> impl Iterator<Item = &Head> {
        self.expected.heads.iter().chain(&self.own_heads)
    }

    /// The next entry.
    pub fn feed(&mut self, row: &AuditRow) -> Result<(), Fault> {
        let seq = row.seq;
        if row.version != AUDIT_VERSION {
            let version = row.version;
            return Err(Fault::Version { seq, version });
        }
        match self.last {
            None => self.begin(row)?,
            Some((after, _)) if seq <= after => return Err(Fault::OutOfOrder { seq, after }),
            Some((after, _)) if seq > after + 1 => {
                let (seq, next) = (after + 1, seq);
                return Err(Fault::Missing { seq, next });
            }
            Some(_) => {}
        }
        if row.computed_hash() != row.hash {
            return Err(Fault::Edited { seq });
        }
        if self.last.is_some_and(|(_, hash)| hash != row.prev) {
            return Err(Fault::Unlinked { seq });
        }
        if self
            .heads()
            .any(|head| head.seq == seq && head.hash != row.hash)
        {
            return Err(Fault::Rewritten { seq });
        }
        if self.expected.hash == Some(row.hash) {
            self.hash_found = true;
            self.hash_seq = seq;
        }
        self.last = Some((seq, row.hash));
        self.count(row);
        Ok(())
    }

    /// After the last entry, with the head that the store had when there were no more.
    pub fn finish(mut self, store_head: Head) -> Result<Report, Fault> {
        let (last, hash) = self.last.unwrap_or((0, [0; 32]));
        if store_head.seq < last {
            let (seq, head) = (store_head.seq + 1, store_head.seq);
            return Err(Fault::Beyond { seq, head });
        }
        let first = self.first.map_or(1, |(first, _)| first);
        let latest = self.heads().map(|head| head.seq).max();
        if let Some(head) = latest.filter(|head| *head > last) {
            let missing = last + 1;
            return Err(Fault::End { missing, head });
        }
        if store_head.seq == last && store_head.hash != hash {
            return Err(Fault::Rewritten { seq: last });
        }
        if first > 1 && !self.begins_rightly {
            return Err(Fault::Beginning { first });
        }
        if let (false, Some(hash)) = (self.hash_found, self.expected.hash) {
            let hash = HexHash(hash).to_string();
            return Err(Fault::NotThere { hash });
        }
        let (pruned, compared): (Vec<&Head>, Vec<&Head>) = (self.expected.heads.iter())
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
        self.report.head = Head { seq: last, hash }.to_string();
        self.report.without_result = self.open.len() as u64 + self.open_forgotten;
        self.report.without_result_first = self.open.iter().take(NAMED_INTENTS).copied().collect();
        Ok(self.report)
    }

    /// The first entry has nothing before it, or what a checkpoint further on tells.
    fn begin(&mut self, row: &AuditRow) -> Result<(), Fault> {
        if row.seq < 1 {
            let (seq, after) = (row.seq, 0);
            return Err(Fault::OutOfOrder { seq, after });
        }
        if row.seq == 1 && row.prev != [0; 32] {
            return Err(Fault::Unlinked { seq: 1 });
        }
        self.first = Some((row.seq, row.prev));
        Ok(())
    }

    fn count(&mut self, row: &AuditRow) {
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
            "checkpoint" => self.checkpoint(&row.entry.details),
            _ => {}
        }
    }

    /// A prune that was interrupted has not deleted all that its checkpoint tells.
    fn checkpoint(&mut self, details: &str) {
        let Ok(told) = serde_json::from_str::<Checkpoint>(details) else {
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
