//! Crash-safe execution of PXP requests on this node.
//!
//! [`ActionEngine`] takes the messages that the node's connection receives, runs the requests in
//! processes that outlive the agent ([`wrapper_main`]), keeps every accepted request and every
//! outcome in a spool on disk, and sends outcomes through a [`PxpOutbox`]. It does not depend on
//! sockets or brokers. Invariant: a transaction is executed at most once and its outcome is
//! reported truthfully, even if processes are killed in between.

mod cache;
pub mod defaults;
mod engine;
pub mod leases;
mod modules;
mod outbox;
mod process;
pub mod reruns;
mod spool;

pub use cache::DownloadConfig;
pub use engine::{ActionEngine, EngineConfig, EngineStartError};
pub use outbox::{NotSent, PxpOutbox};
pub use spool::{OpenSpoolError, since_boot};

use std::ffi::OsString;
use std::process::ExitCode;

/// Entry point of the hidden subcommand of the agent's executable: supervises an action, or
/// performs one. `args` is the rest of the command line after that subcommand: the spool entry of
/// an action to supervise, or a keyword for one of the agent's own actions followed by its spool
/// entry, or that of the lease holder followed by the spool. Must be called before any thread is started.
pub fn wrapper_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    match args.next() {
        Some(word) if word == process::ATTENDANT => process::attend_main(args),
        Some(word) if word == process::BECOME => process::become_main(args),
        Some(word) if word == modules::COLLECTOR => modules::collect_main(),
        Some(word) if word == modules::PLACER => modules::place_main(),
        Some(word) if word == modules::RUNNER => modules::runner_main(args.next()),
        Some(word) if word == modules::LEASE_HOLDER => modules::holder_main(args),
        first => process::wrapper_main(first.into_iter()),
    }
}
