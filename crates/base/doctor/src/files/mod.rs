//! Owners and modes of files, and the access of a service's account to them: [`judge`] over the
//! facts of [`examine_path`].
//!
//! Invariant: files of one tree with one fault are one finding, so that a forgotten `chown` is one
//! line.

mod acl;
mod expectation;
mod facts;
mod judge;

pub use expectation::{CheckedTree, FileAccess, PathExpectation};
pub use facts::{FileFacts, PathFacts, PathSighting, examine_path};
pub use judge::{CheckedService, judge};

/// Name of the check in findings.
pub const CHECK: &str = "files";
