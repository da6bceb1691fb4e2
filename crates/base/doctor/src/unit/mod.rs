//! Units of systemd, as `systemctl show` tells them: [`judge`] over what [`look`] gathers.
//!
//! The invariant: paths count as writable only if the unit allows it and, where the service runs, its own mounts do.

mod facts;
mod judge;
mod sandbox;

pub use facts::{UnitFacts, UnitSighting, look};
pub use judge::{ExpectedUnit, judge};

/// Name of the check.
pub const CHECK: &str = "unit";
