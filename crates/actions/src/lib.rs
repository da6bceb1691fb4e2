//! PXP requests carried out on this node, crash-safe.
//!
//! [`Engine`] takes what the node's connection receives, runs it in processes
//! that outlive the agent ([`wrapper_main`]), keeps every promise and every
//! outcome in a spool on disk, and tells them through an [`Outbox`]. It knows
//! nothing of sockets or brokers. The rule that must hold: a transaction is
//! carried out at most once and its outcome is told truly, whatever is killed
//! in between.

mod cache;
pub mod defaults;
mod engine;
mod modules;
mod outbox;
mod process;
mod spool;

pub use cache::DownloadConfig;
pub use engine::{Engine, EngineConfig, EngineStartError};
pub use outbox::{NotSent, Outbox};
pub use process::wrapper_main;
pub use spool::OpenSpoolError;
