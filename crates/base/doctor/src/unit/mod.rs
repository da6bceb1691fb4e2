//! systemd units, as reported by `systemctl show`: [`judge`] over the facts of [`examine_unit`].
//!
//! Invariant: paths count as writable only if the unit allows it and, if the service runs, its own
//! mounts do too.

mod facts;
mod judge;
mod sandbox;

pub use facts::{UnitFacts, UnitSighting, examine_unit};
pub use judge::{ExpectedUnit, judge};

/// Name of the check in findings.
pub const CHECK: &str = "unit";
