//! Sources of code: control repositories in git and Subversion, modules in archives and on a Forge,
//! lists of environments; and the resolution of Puppetfiles.
//!
//! Main types: [`source::EnvironmentSource`], a control repository or a list of environments;
//! [`resolve::ResolveRound`], one query of all sources, which resolves Puppetfiles to
//! [locks](code_store::version_lock::VersionLock); [`source_trees::TreeFetcher`], which fetches the
//! trees of a lock into the code store.
//!
//! Invariant: no code of a repository or archive runs here, and a credential goes only to the
//! server that it is for.

pub mod archive;
pub mod defaults;
pub mod git;
pub mod http;
pub mod manifest_syntax;
pub mod remote_address;
pub mod resolve;
pub mod source;
pub mod source_trees;
pub mod svn;
