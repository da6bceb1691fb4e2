//! The code store: contents, versions of environments, and which version of each is live.
//!
//! Main types: [`content::ContentStore`], the files of all versions, each kept once under its hash;
//! [`version::VersionStore`], the versions of environments and the switch between them;
//! [`version_lock::VersionLock`], the record of the commits, archives and revisions of a version.
//!
//! Invariant: every reader of an environment always sees one whole version of it.

pub mod code_cache;
pub mod content;
pub mod defaults;
pub mod diff;
pub mod directory_lock;
pub mod disk_work;
pub mod gc;
pub mod integrity;
pub mod low_priority;
pub mod notes;
pub mod r10k_deploy_file;
pub mod tree_notes;
pub mod version;
pub mod version_lock;
pub mod versioned_code;
pub mod write_probe;
