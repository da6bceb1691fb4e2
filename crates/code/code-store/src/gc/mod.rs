//! Room on the disk: versions that nobody needs, and contents that no version has. Main function:
//! [`collect`].
//!
//! The rules that must hold:
//! - what is live, pinned, in use, new, or among the last ones of its environment stays;
//! - whoever calls this builds nothing and switches nothing meanwhile: what is being built has contents that
//!   no version has yet;
//! - it can be cut off at any moment, also by a kill, and what it leaves is whole.

mod claim;
mod needs;
mod notes;
mod objects;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use environments::EnvironmentName;
use tokio_util::sync::CancellationToken;

use crate::content::ContentError;
use crate::defaults::{KEEP_AT_LEAST, KEEP_VERSIONS, KEEP_VERSIONS_FOR};
use crate::version::{VersionSignature, Versions};
pub use claim::claim;
pub use claim::is_claimed;
use needs::Needs;
use notes::forget;

/// Which versions stay that nobody uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionSettings {
    /// So many of each environment beside the live one, the last ones that were live; `None`: all.
    pub versions: Option<usize>,
    /// And others for so long after they were live; [`KEEP_AT_LEAST`] is the least.
    pub age: Duration,
}

/// What stays beside what is live.
#[derive(Clone, Debug, Default)]
pub struct CollectOptions {
    /// Pinned, or in use by plans and jobs.
    pub used: HashSet<(EnvironmentName, VersionSignature)>,
    /// And what else.
    pub keep: RetentionSettings,
    /// Contents and notes that were written within this time stay, though no version has them: a deployment
    /// that failed finds them when it is done once more.
    pub spare: Duration,
    /// Say only what would go.
    pub dry_run: bool,
    /// Which of the directories of contents is looked at first; whoever was cut off goes on there.
    pub first: u8,
    /// Cuts it off.
    pub cut: CancellationToken,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectedGarbage {
    /// Versions.
    pub versions: Vec<(EnvironmentName, VersionSignature)>,
    /// Contents that no version had.
    pub objects: usize,
    /// What they took.
    pub bytes: u64,
    /// What all contents take now; only if nothing cut it off.
    pub left_bytes: u64,
    /// The directory of contents where it was cut off; `None`: it was not.
    pub cut_at: Option<u8>,
    /// Notes and lists of files that no version needed.
    pub notes: usize,
    /// Copies of repositories that nobody used any more.
    pub repositories: usize,
    /// What those that are left take; `None`: it was not looked.
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

/// Removes what nobody needs. In a dry run, contents that only versions that would go have are not counted.
pub fn collect(
    versions: &Versions,
    kept: &CollectOptions,
) -> Result<CollectedGarbage, ContentError> {
    let mut collected = CollectedGarbage::default();
    for (environment, signature) in superfluous(versions, kept)? {
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
    objects::sweep(versions.content(), kept, &mut collected)?;
    Ok(collected)
}

/// Removes notes and lists of files that no version needs; gives the repositories that the locks of versions name,
/// without credentials. `None`: it was cut off.
pub fn collect_notes(
    versions: &Versions,
    kept: &CollectOptions,
    collected: &mut CollectedGarbage,
) -> Result<Option<HashSet<String>>, ContentError> {
    let Some(needs) = Needs::of(versions, &kept.cut)? else {
        return Ok(None);
    };
    if !kept.dry_run {
        collected.notes = forget(versions, &needs, kept)?;
    }
    Ok(Some(needs.remotes))
}

fn superfluous(
    versions: &Versions,
    kept: &CollectOptions,
) -> Result<Vec<(EnvironmentName, VersionSignature)>, ContentError> {
    let Some(keeps) = kept.keep.versions else {
        return Ok(Vec::new());
    };
    let mut of: BTreeMap<EnvironmentName, Vec<(SystemTime, VersionSignature)>> = BTreeMap::new();
    for (environment, signature) in versions.all()? {
        let used = versions.used(&environment, &signature);
        let used = used.unwrap_or_else(SystemTime::now);
        of.entry(environment).or_default().push((used, signature));
    }
    let (now, age) = (SystemTime::now(), kept.keep.age.max(KEEP_AT_LEAST));
    let is_old = |used: SystemTime| now.duration_since(used).is_ok_and(|it| it > age);
    let mut superfluous = Vec::new();
    for (environment, mut all) in of {
        let live = versions.live(&environment);
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
