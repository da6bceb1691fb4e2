//! The spool: requests that this agent has accepted, is executing and has executed, on disk.
//!
//! One directory per transaction ([`SpoolEntry`]), named by the transaction id and laid out as by
//! pxp-agent (`metadata`, `pid`, `stdout`, `stderr`, `exitcode`), so that tools which read it find
//! the files they know:
//!
//! | file | written by | content |
//! |---|---|---|
//! | `metadata` | agent | [`TransactionRecord`]: requester and request; on disk before the start |
//! | `claim.json` | wrapper or agent | [`ActionClaim`]: started by this process, or never |
//! | `exit.json` | wrapper or agent | [`ExitRecord`]: the end of the action |
//! | `output_limit` | wrapper | [`OutputLimit`]: bytes of output that count, per stream |
//! | `stdout`, `stderr` | action | output |
//! | `pid`, `exitcode` | wrapper | for other tools; never read back for Tutti's own entries |
//!
//! Beside them is `+spool-id`, the id of the spool as a whole: with it an orchestrator can tell
//! "never seen" from "forgotten". It is removed together with entries that an orchestrator may
//! still query, and the spool has another id from then on.
//!
//! Invariants: an entry appears whole; a file of an entry that was promised is flushed before it is
//! renamed into place ([`EntryDurability`]); parameters and stdin are never written to disk; a name
//! from the network becomes a path only as a [`TransactionId`](pxp::TransactionId).
//!
//! [`ExitRecord`]: crate::process::ExitRecord
//! [`OutputLimit`]: crate::process::OutputLimit

mod claim;
mod clocks;
mod durability;
mod entry;
mod purge;
mod record;
mod scrub;
mod store;

pub(crate) use claim::{ActionClaim, ActionClaimError};
pub(crate) use clocks::ClockReading;
pub use clocks::since_boot;
pub(crate) use durability::EntryDurability;
pub(crate) use entry::{STDERR_FILE, STDOUT_FILE, SpoolEntry};
pub(crate) use record::{
    DeliveryState, OutputEncoding, RecordExtension, RecordStatus, ResultKind, TransactionRecord,
};
pub use store::OpenSpoolError;
pub(crate) use store::{CreateEntryError, Spool};
