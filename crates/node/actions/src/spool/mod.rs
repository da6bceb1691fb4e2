//! The spool: what this agent has promised, is doing and has done, on disk.
//!
//! One directory per transaction ([`Entry`]), named by the transaction id and
//! laid out as pxp-agent does (`metadata`, `pid`, `stdout`, `stderr`,
//! `exitcode`), so that tools which look into it find what they know:
//!
//! | file | by | what |
//! |---|---|---|
//! | `metadata` | agent | [`Record`]: who asked for what; on disk before anything runs |
//! | `claim.json` | wrapper or agent | [`Claim`]: whether the action was started, and by which process |
//! | `exit.json` | wrapper or agent | [`ExitRecord`](crate::process::ExitRecord): how it ended |
//! | `output_limit` | wrapper | [`OutputLimit`](crate::process::OutputLimit): bytes of output that count, per stream |
//! | `stdout`, `stderr` | action | output |
//! | `pid`, `exitcode` | wrapper | for other tools; never read back for our own entries |
//!
//! Beside them lies `+spool-id`, which names the spool as a memory: with it an orchestrator can
//! tell "never seen" from "forgotten". It is removed together with entries that an orchestrator may
//! still query, and the spool has another id from then on.
//!
//! The rules: an entry appears whole; a file of an entry that was promised is flushed before it
//! is renamed into place ([`Durability`]); parameters and stdin never reach the
//! disk; a name from the network becomes a path only as a
//! [`TransactionId`](pxp::TransactionId).

mod claim;
mod clocks;
mod durability;
mod entry;
mod purge;
mod record;
mod scrub;
mod store;

pub(crate) use claim::{Claim, ClaimError};
pub(crate) use clocks::{Clocks, since_boot};
pub(crate) use durability::Durability;
pub(crate) use entry::{Entry, STDERR_FILE, STDOUT_FILE};
pub(crate) use record::{Carriage, Delivery, Extension, Record, ResultKind, Status};
pub use store::OpenSpoolError;
pub(crate) use store::{CreateEntryError, Spool};
