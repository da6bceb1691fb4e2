//! Owners and modes of files, as the account of a service meets them: [`judge`] over facts of [`look`].
//!
//! The invariant: files of one tree with one fault are one finding, so that a `chown` that was forgotten is one line.

mod acl;
mod expectation;
mod facts;
mod judge;

pub use expectation::{Access, Expected, Tree};
pub use facts::{FileFacts, PathFacts, Sighting, look};
pub use judge::{Service, judge};

/// Name of the check.
pub const CHECK: &str = "files";
