//! Room on the disk: versions that nobody needs, and contents that no version has. Main function:
//! [`collect`].
//!
//! The rule that must hold: what is live, pinned, in use, new, or among the last ones of its environment
//! stays. Whoever calls this builds nothing meanwhile.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use deploy::EnvironmentName;

use crate::content::{ContentError, failed};
use crate::defaults::{KEEP_VERSIONS, KEEP_VERSIONS_FOR};
use crate::version::{Signature, Versions};

/// What stays beside what is live.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Pinned, or in use by plans and jobs.
    pub used: HashSet<(EnvironmentName, Signature)>,
    /// So many of each environment, the last ones that were live.
    pub versions: usize,
    /// And others for so long after they were live.
    pub age: Duration,
    /// Say only what would go.
    pub dry_run: bool,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Versions.
    pub versions: Vec<(EnvironmentName, Signature)>,
    /// Contents that no version had.
    pub objects: usize,
    /// What they took.
    pub bytes: u64,
    /// What all contents take now.
    pub left_bytes: u64,
}

// === impl Kept ===

impl Default for Kept {
    fn default() -> Self {
        Self {
            used: HashSet::new(),
            versions: KEEP_VERSIONS,
            age: KEEP_VERSIONS_FOR,
            dry_run: false,
        }
    }
}

/// Removes what nobody needs. In a dry run, contents that only versions that would go have are not counted.
pub fn collect(versions: &Versions, kept: &Kept) -> Result<Collected, ContentError> {
    let mut collected = Collected {
        versions: superfluous(versions, kept)?,
        ..Collected::default()
    };
    if !kept.dry_run {
        for (environment, signature) in &collected.versions {
            versions.discard(environment, signature)?;
        }
    }
    let objects = versions.content().root().join("objects");
    for directory in fs::read_dir(&objects).map_err(failed("read", &objects))? {
        let directory = directory.map_err(failed("read", &objects))?.path();
        sweep(&directory, kept.dry_run, &mut collected)?;
    }
    Ok(collected)
}

fn superfluous(
    versions: &Versions,
    kept: &Kept,
) -> Result<Vec<(EnvironmentName, Signature)>, ContentError> {
    let mut of: BTreeMap<EnvironmentName, Vec<(SystemTime, Signature)>> = BTreeMap::new();
    for (environment, signature) in versions.all()? {
        let used = versions.used(&environment, &signature);
        let used = used.unwrap_or_else(SystemTime::now);
        of.entry(environment).or_default().push((used, signature));
    }
    let now = SystemTime::now();
    let is_old = |used: SystemTime| now.duration_since(used).is_ok_and(|age| age > kept.age);
    let mut superfluous = Vec::new();
    for (environment, mut all) in of {
        let live = versions.live(&environment);
        all.retain(|(_, signature)| Some(signature) != live.as_ref());
        all.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        for (used, signature) in all.into_iter().skip(kept.versions) {
            let version = (environment.clone(), signature);
            if is_old(used) && !kept.used.contains(&version) {
                superfluous.push(version);
            }
        }
    }
    Ok(superfluous)
}

/// A content that no version has has one name only: this one.
fn sweep(directory: &Path, dry_run: bool, collected: &mut Collected) -> Result<(), ContentError> {
    for object in fs::read_dir(directory).map_err(failed("read", directory))? {
        let path = object.map_err(failed("read", directory))?.path();
        let metadata = fs::symlink_metadata(&path).map_err(failed("read", &path))?;
        let bytes = metadata.blocks() * BLOCK_BYTES;
        if metadata.nlink() > 1 {
            collected.left_bytes += bytes;
            continue;
        }
        if !dry_run {
            fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
        collected.objects += 1;
        collected.bytes += bytes;
    }
    Ok(())
}

/// What `st_blocks` counts in, whatever the file system's own blocks are.
const BLOCK_BYTES: u64 = 512;
