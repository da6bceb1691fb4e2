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
pub use spool::OpenSpoolError;

use std::ffi::OsString;
use std::process::ExitCode;

/// Supervises an action, or is one: what the hidden subcommand of the agent's executable runs.
/// `args` is what follows that subcommand: the spool entry of an action to supervise, or a word for
/// which of the agent's own actions this is, and its spool entry. To be called before any thread is
/// started.
pub fn wrapper_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    match args.next() {
        Some(word) if word == process::ATTENDANT => process::attend_main(args),
        Some(word) if word == process::BECOME => process::become_main(args),
        Some(word) if word == modules::COLLECTOR => modules::collect_main(),
        Some(word) if word == modules::PLACER => modules::place_main(),
        Some(word) if word == modules::RUNNER => modules::runner_main(args.next()),
        first => process::wrapper_main(first.into_iter()),
    }
}
