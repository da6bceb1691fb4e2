//! Code in a directory and blobs, through their public interface.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod blobs;
mod entry;
mod environments;
mod files;
mod plans;
mod properties;
mod replaced;
mod sources;
mod task_metadata;
mod task_parameters;
mod tasks;
mod tree;
mod type_aliases;
