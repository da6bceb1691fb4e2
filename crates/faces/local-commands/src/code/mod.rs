//! Code deployment on this machine, without a server, and the commands of a puppetserver.
//!
//! Invariant: an environment that was not deployed is reported with the reason and stays as it was.

pub(crate) mod deploy;
mod directory;
mod gc;
pub(crate) mod puppetserver;
pub(crate) mod verify;
pub(crate) mod versions;

/// The help of `tutti code deploy` names the number that a server keeps.
const _: () = assert!(cli::KEEP_VERSIONS == code_store::defaults::KEEP_VERSIONS);
