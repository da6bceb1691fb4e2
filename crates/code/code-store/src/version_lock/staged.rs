//! The lock of an environment that another tool wrote into the staging directory: [`staged_lock`].

use super::{LockedControl, VersionLock};
use crate::content::TreeManifest;
use crate::r10k_deploy_file::R10K_FILE;

/// The `remote` of the control repository in the lock of such an environment.
pub const STAGED: &str = "the staging directory";

/// Returns the lock of an environment with these files. r10k's `.r10k-deploy.json` is ignored,
/// since it contains a time, so that the same code is the same version.
pub fn staged_lock(environment: &str, manifest: &TreeManifest) -> VersionLock {
    let mut counted = TreeManifest::default();
    for (path, entry) in manifest.entries() {
        if path.as_bytes() != R10K_FILE.as_bytes() {
            // The entry was in a tree before, so adding it cannot fail.
            drop(counted.add(path.clone(), entry.clone()));
        }
    }
    let mut commit = counted.encode().0.to_string();
    commit.truncate(40);
    VersionLock {
        environment: environment.to_owned(),
        control: LockedControl {
            remote: STAGED.to_owned(),
            branch: environment.to_owned(),
            commit,
            ..LockedControl::default()
        },
        modules: Vec::new(),
        generated_types: false,
    }
}
