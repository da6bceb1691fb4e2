//! Environments of this machine, without a server.
//!
//! The rule: what was not deployed is said with its reason, and is as it was before.

pub(super) mod deploy;
mod room;
pub(super) mod settings;
pub(super) mod verify;
pub(super) mod versions;
