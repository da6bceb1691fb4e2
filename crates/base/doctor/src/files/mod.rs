//! Owners and modes of files, and the access of a service's account to them: [`judge`] over facts
//! of [`look`].
//!
//! Invariant: files of one tree with one fault are one finding, so that a forgotten `chown` is one
//! line.

mod acl;
mod expectation;
mod facts;
mod judge;

pub use expectation::{Access, Expected, Tree};
pub use facts::{FileFacts, PathFacts, Sighting, look};
pub use judge::{Service, judge};

/// Name of the check in findings.
pub const CHECK: &str = "files";
