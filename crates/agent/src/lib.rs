//! The node's side: takes PXP requests from a broker, carries them out, keeps and
//! tells their outcomes.
//!
//! Two halves meet at a narrow seam. The connection half talks to brokers; the
//! [`engine`] carries out requests, with [`process`] for what runs, and a spool
//! and a task cache on disk; [`outbox`] is the engine's way out.

mod cache;
pub mod defaults;
pub mod engine;
mod modules;
pub mod outbox;
pub mod process;
mod spool;
