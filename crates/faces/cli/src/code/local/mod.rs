//! Code deployment on this machine, without a server.
//!
//! Invariant: an environment that was not deployed is reported with the reason and stays as it was.

pub(super) mod deploy;
mod gc;
pub(super) mod settings;
pub(super) mod verify;
pub(super) mod versions;
