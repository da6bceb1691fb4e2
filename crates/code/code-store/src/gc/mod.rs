//! Garbage collection of unused versions, and of contents that no version has. Main function:
//! [`collect`].
//!
//! Invariants:
//! - a version that is live, pinned, in use, new, or among the last ones of its environment stays;
//! - the caller builds nothing and switches nothing meanwhile: a version in progress has contents
//!   that no version has yet;
//! - it can be interrupted at any moment, also by a kill, and the remaining versions are whole.

mod needs;
mod notes;
mod objects;
mod server_claim;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use environments::EnvironmentName;
use tokio_util::sync::CancellationToken;

use crate::content::ContentError;
use crate::defaults::{KEEP_AT_LEAST, KEEP_VERSIONS, KEEP_VERSIONS_FOR};
use crate::version::{VersionSignature, VersionStore};
use needs::NeededObjects;
use notes::remove_unneeded;
pub use server_claim::claim;
pub use server_claim::is_claimed;

/// The settings for keeping versions that are not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Number of versions to keep of each environment beside the live one, those that were live
    /// last; `None`: all.
    pub versions: Option<usize>,
    /// Time for which other versions stay after they were live; at least [`KEEP_AT_LEAST`].
    pub age: Duration,
}

/// Exceptions and options of a garbage collection.
#[derive(Clone, Debug, Default)]
pub struct GcOptions {
    /// Versions that are pinned, or in use by plans and jobs.
    pub used: HashSet<(EnvironmentName, VersionSignature)>,
    /// The settings for keeping other versions.
    pub keep: RetentionSettings,
    /// Age up to which contents and notes stay although no version uses them, so that a failed
    /// deployment can reuse them when it is repeated.
    pub spare: Duration,
    /// Only reports the garbage and removes nothing.
    pub dry_run: bool,
    /// Directory of contents to start with, from which an interrupted collection continues.
    pub first: u8,
    /// Interrupts the collection when cancelled.
    pub cut: CancellationToken,
}

/// The result of a garbage collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectedGarbage {
    /// Versions that were removed, by environment.
    pub versions: Vec<(EnvironmentName, VersionSignature)>,
    /// Number of removed contents, which no version had.
    pub objects: usize,
    /// Size of the removed contents on the disk, in bytes.
    pub bytes: u64,
    /// Size of all remaining contents, in bytes; only if the collection was not interrupted.
    pub left_bytes: u64,
    /// Directory of contents at which the collection was interrupted; `None` if it was not.
    pub cut_at: Option<u8>,
    /// Number of removed notes and lists of files, which no version needed.
    pub notes: usize,
    /// Number of removed copies of repositories, which were unused.
    pub repositories: usize,
    /// Size of the remaining copies in bytes; `None` if it was not measured.
    pub repositories_bytes: Option<u64>,
}

// === impl RetentionSettings ===

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            versions: Some(KEEP_VERSIONS),
            age: KEEP_VERSIONS_FOR,
        }
    }
}

/// Removes unused versions and contents. A dry run does not count contents that only versions to be
/// removed have.
pub fn collect(
    versions: &VersionStore,
    kept: &GcOptions,
) -> Result<CollectedGarbage, ContentError> {
    let mut collected = CollectedGarbage::default();
    for (environment, signature) in unused_versions(versions, kept)? {
        if kept.cut.is_cancelled() {
            break;
        }
        if kept.dry_run || versions.retire(&environment, &signature)? {
            collected.versions.push((environment, signature));
        }
    }
    if !kept.dry_run {
        versions.clear_retired(&kept.cut)?;
    }
    objects::sweep_objects(versions.content(), kept, &mut collected)?;
    Ok(collected)
}

/// Removes notes and lists of files that no version needs; returns the repositories that the locks
/// of versions name, without credentials. `None` if it was interrupted.
pub fn collect_notes(
    versions: &VersionStore,
    kept: &GcOptions,
    collected: &mut CollectedGarbage,
) -> Result<Option<HashSet<String>>, ContentError> {
    let Some(needs) = NeededObjects::from_versions(versions, &kept.cut)? else {
        return Ok(None);
    };
    if !kept.dry_run {
        collected.notes = remove_unneeded(versions, &needs, kept)?;
    }
    Ok(Some(needs.remotes))
}

fn unused_versions(
    versions: &VersionStore,
    kept: &GcOptions,
) -> Result<Vec<(EnvironmentName, VersionSignature)>, ContentError> {
    let Some(keeps) = kept.keep.versions else {
        return Ok(Vec::new());
    };
    let mut of: BTreeMap<EnvironmentName, Vec<(SystemTime, VersionSignature)>> = BTreeMap::new();
    for (environment, signature) in versions.all_versions()? {
        let used = versions.last_used(&environment, &signature);
        let used = used.unwrap_or_else(SystemTime::now);
        of.entry(environment).or_default().push((used, signature));
    }
    let (now, age) = (SystemTime::now(), kept.keep.age.max(KEEP_AT_LEAST));
    let is_old = |used: SystemTime| now.duration_since(used).is_ok_and(|it| it > age);
    let mut superfluous = Vec::new();
    for (environment, mut all) in of {
        let live = versions.live_version(&environment);
        all.retain(|(_, signature)| Some(signature) != live.as_ref());
        all.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        for (used, signature) in all.into_iter().skip(keeps) {
            let version = (environment.clone(), signature);
            if is_old(used) && !kept.used.contains(&version) {
                superfluous.push(version);
            }
        }
    }
    Ok(superfluous)
}
