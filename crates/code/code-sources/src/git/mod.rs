//! Repositories, through the `git` program, which has the user's credentials, proxies and SSH.
//!
//! [`GitProgram`] runs it, [`GitMirror`] is the copy of one repository. Invariants:
//!
//! - nothing of a repository is ever executed: there is no work tree, no hook and no filter;
//! - no secret is in a command line, and no address begins with a dash.

mod address;
mod app_key;
mod credential_servers;
mod git_mirror;
mod git_mirrors;
mod github_app;
mod mirror_gc;
mod program;
mod refs;
mod refs_note;
mod repack;
mod repository_access;
mod stale_locks;
mod tree;

pub use address::GitAddress;
pub use app_key::AppKeyError;
pub use credential_servers::CredentialServers;
pub use credential_servers::is_server;
pub use git_mirror::GitMirror;
pub use git_mirrors::GitMirrors;
pub use github_app::{AppError, GithubApps};
pub use program::to_error_message;
pub use program::{GitError, GitProgram};
pub use refs::{CommitHash, GitReference, GitRefs};
pub use repository_access::GitAccess;
pub use tree::{TreeError, read_file, store_commit};
