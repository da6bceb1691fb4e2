//! Comparison of the whole code store with its hashes, without network access and without changes.
//! Main function: [`check_store`].
//!
//! Every content is hashed again, even if it was verified before, and every file of every version
//! is compared with the trees that the version's lock names. Invariant: a version counts as whole
//! only if each of its files was compared; if the trees are not known any more, the reason is
//! reported instead.

mod expected;
mod hashed_contents;
mod verification;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use environments::EnvironmentName;
use tokio_util::sync::CancellationToken;

use crate::content::{ContentError, TreeManifest, content_error};
use crate::defaults::NAMED_DAMAGED_FILES;

use crate::version::{IsContentRight, VersionSignature, VersionStore, read_manifest};
use crate::version_lock::{LOCK_FILE, STAGED, VersionLock, staged_lock};
use expected::expected_layout;
use hashed_contents::HashedContents;
pub use verification::{StoreVerification, VersionRepair};

/// Result of a comparison of the whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCheck {
    /// Number of contents that were hashed.
    pub contents: usize,
    /// Total size of those contents, in bytes.
    pub bytes: u64,
    /// Paths of contents whose bytes or mode are not those of their names, sorted.
    pub damaged_contents: Vec<PathBuf>,
    /// One entry for each version, sorted by environment and signature.
    pub versions: Vec<VersionCheck>,
}

/// Result of the comparison of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCheck {
    /// Environment that the version belongs to.
    pub environment: EnvironmentName,
    /// Signature of the version.
    pub signature: VersionSignature,
    /// True if the version is live.
    pub is_live: bool,
    /// Outcome of the comparison.
    pub integrity: VersionIntegrity,
}

/// Outcome of the comparison of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionIntegrity {
    /// Every file and link is as it was built.
    Whole,
    /// These files and links are missing or different, by path.
    Damaged(Vec<String>),
    /// The version cannot be compared, for this reason.
    Unknown(String),
}

/// The reason that the store cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum StoreCheckError {
    /// A directory of the store cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The caller is gone, or the server is stopping.
    #[error("the comparison was cut off")]
    Interrupted,
}

// === impl StoreCheck ===

impl StoreCheck {
    /// Versions that are damaged, or could not be compared.
    pub fn damaged_or_unknown(&self) -> Vec<(EnvironmentName, VersionSignature)> {
        let versions = self.versions.iter();
        versions
            .filter(|it| it.integrity != VersionIntegrity::Whole)
            .map(|it| (it.environment.clone(), it.signature.clone()))
            .collect()
    }
}

/// Compares the whole store. Blocks while it reads every content once.
pub fn check_store(
    versions: &VersionStore,
    cut: &CancellationToken,
) -> Result<StoreCheck, StoreCheckError> {
    let hashed = HashedContents::hash_all(versions.content(), cut)?;
    let mut checked = Vec::new();
    for (environment, signature) in versions.all_versions()? {
        if cut.is_cancelled() {
            return Err(StoreCheckError::Interrupted);
        }
        let is_right = |sha256, executable, size_bytes| {
            hashed.is_intact(versions.content(), (sha256, executable), size_bytes)
        };
        let integrity = compare(versions, &environment, &signature, &is_right);
        // The version may have been collected meanwhile.
        if versions.has(&environment, &signature) {
            checked.push(VersionCheck {
                is_live: versions.live_version(&environment).as_ref() == Some(&signature),
                environment,
                signature,
                integrity,
            });
        }
    }
    Ok(StoreCheck {
        contents: hashed.count,
        bytes: hashed.bytes,
        damaged_contents: hashed.damaged_paths(versions.content()),
        versions: checked,
    })
}

/// Compares one version, with contents that were hashed once in this process. Blocks.
pub fn check_version(
    versions: &VersionStore,
    environment: &EnvironmentName,
    signature: &VersionSignature,
) -> VersionIntegrity {
    let content = versions.content();
    let is_right =
        |sha256, executable, size_bytes| content.has_intact(sha256, executable, size_bytes);
    compare(versions, environment, signature, &is_right)
}

/// Returns the paths at which a manifest read from a version differs from the trees that its lock
/// names; empty also if those trees are not known.
pub fn differing_paths(
    versions: &VersionStore,
    environment: &EnvironmentName,
    signature: &VersionSignature,
    manifest: &TreeManifest,
) -> Vec<String> {
    let lock = versions.read_lock(environment, signature);
    let Some(lock) = lock.filter(|lock| lock.signature() == *signature) else {
        return vec![LOCK_FILE.to_owned()];
    };
    if lock.control.remote == STAGED {
        return match matches_published(manifest, &lock) {
            true => Vec::new(),
            false => vec![PUBLISHED_FILES.to_owned()],
        };
    }
    let Ok(layout) = expected_layout(versions, &lock) else {
        return Vec::new();
    };
    layout
        .entries()
        .filter(|(path, entry)| manifest.get(path.as_bytes()) != Some(entry))
        .map(|(path, _)| path.to_string())
        .collect()
}

/// Removes these contents from the store, so that they are fetched again.
pub fn discard_contents(contents: &[PathBuf]) -> Result<(), ContentError> {
    for path in contents {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(content_error("remove", path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn compare(
    versions: &VersionStore,
    environment: &EnvironmentName,
    signature: &VersionSignature,
    is_right: IsContentRight<'_>,
) -> VersionIntegrity {
    let lock = versions.read_lock(environment, signature);
    let Some(lock) = lock.filter(|lock| lock.signature() == *signature) else {
        return VersionIntegrity::Damaged(vec![LOCK_FILE.to_owned()]);
    };
    if lock.control.remote == STAGED {
        return compare_staged(&versions.path(environment, signature), &lock);
    }
    let layout = match expected_layout(versions, &lock) {
        Ok(layout) => layout,
        Err(why) => return VersionIntegrity::Unknown(why.to_string()),
    };
    let damaged = versions.damaged_paths(environment, signature, &layout, is_right);
    match damaged.is_empty() {
        true => VersionIntegrity::Whole,
        false => VersionIntegrity::Damaged(damaged),
    }
}

/// Compares a version that another tool published: its signature is the hash of all its files, so
/// they are compared as a whole.
fn compare_staged(root: &Path, lock: &VersionLock) -> VersionIntegrity {
    let manifest = match read_manifest(root, &|_, _, _| Ok(())) {
        Ok(manifest) => manifest,
        Err(error) => return VersionIntegrity::Unknown(error_causes::chain(&error)),
    };
    match matches_published(&manifest, lock) {
        true => VersionIntegrity::Whole,
        false => VersionIntegrity::Damaged(vec![PUBLISHED_FILES.to_owned()]),
    }
}

/// The reported path for a published version, of which only a common hash is known.
const PUBLISHED_FILES: &str = "(files that were published)";

fn matches_published(manifest: &TreeManifest, lock: &VersionLock) -> bool {
    let mut published = TreeManifest::default();
    let entries = manifest.entries();
    for (path, entry) in entries.filter(|(path, _)| path.as_bytes() != LOCK_FILE.as_bytes()) {
        // The entry was in a manifest before, so adding it cannot fail.
        drop(published.add(path.clone(), entry.clone()));
    }
    staged_lock(&lock.environment, &published).control.commit == lock.control.commit
}

/// Joins the first paths of a list, for messages.
pub fn named_paths(paths: &[String]) -> String {
    let named: Vec<&str> = paths
        .iter()
        .take(NAMED_DAMAGED_FILES)
        .map(String::as_str)
        .collect();
    let named = named.join(", ");
    match paths.len().saturating_sub(NAMED_DAMAGED_FILES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
