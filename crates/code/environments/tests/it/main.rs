//! Code in a directory and blobs, as their users see them.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod blobs;
mod environments;
mod files;
mod plans;
mod replaced;
mod sources;
mod tasks;
mod tree;
