//! Backups of files that agents replace, the remote filebucket of Puppet. Main type: [`FileBucket`].
//!
//! ```text
//! contents/ab/<sha256>                       each content once
//! nodes/<certname>/<algorithm>-<hash>        a link to it, for a node that stored it
//! nodes/<certname>/<algorithm>-<hash>.paths  paths of the file on the node, one a line
//! incoming/                                  files that are being received
//! ```
//!
//! Invariants:
//! - An entry is complete and durable from the moment that it exists, and has the hash in its name.
//! - A node reads only what it stored itself.
//! - A file, a node and the whole have limits; the oldest entries make room for new ones.

mod bucket;
pub mod defaults;
mod diff;
mod error;
mod key;
mod pruning;
mod receive;
#[cfg(test)]
mod tests;

pub use bucket::{BucketFile, FileBucket, FileBucketConfig};
pub use error::FileBucketError;
pub use key::{BucketKey, BucketKeyError, DigestAlgorithm};
