//! Repositories, through the `git` program, which has the user's credentials, proxies and SSH.
//!
//! [`Git`] runs it, [`GitMirror`] is the copy of one repository. Invariants:
//!
//! - nothing of a repository is ever executed: there is no work tree, no hook and no filter;
//! - no secret is in a command line, and no address begins with a dash.

mod access;
mod address;
mod app_key;
mod copy;
mod github_app;
mod leftovers;
mod mirror;
mod noted;
mod program;
mod refs;
mod repack;
mod servers;
mod tree;
mod unused;

pub use access::GitAccess;
pub use address::Address;
pub use app_key::KeyError;
pub use copy::GitMirror;
pub use github_app::{AppError, GithubApps};
pub use mirror::GitMirrors;
pub use program::message;
pub use program::{Git, GitError};
pub use refs::{Commit, Refs, Wanted};
pub use servers::CredentialServers;
pub use servers::is_server;
pub use tree::{TreeError, read_file, take_in};
