//! Removes notes and lists of files that no version needs: [`forget`].
//!
//! A note names the tree of a commit, an archive or a version; a tree is a list of files. Invariant: a missing
//! note costs time, and nothing else.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::CollectOptions;
use super::needs::Needs;
use super::objects::is_spared;
use crate::content::{ContentError, failed};
use crate::notes::read_note;
use crate::tree_notes::{
    archive_note_names, archives_directory, commits_directories, revisions_directory,
};
use crate::version::Versions;

/// Removes unneeded notes and lists, unless it is interrupted; returns the number of removed ones.
pub(super) fn forget(
    versions: &Versions,
    needs: &Needs,
    kept: &CollectOptions,
) -> Result<usize, ContentError> {
    let (store, content) = (versions.directory(), versions.content().root());
    let archives = archives_directory(store);
    let mut sweep = Sweep {
        kept,
        trees: HashSet::new(),
        gone: 0,
    };
    for commits in commits_directories(store)? {
        sweep.of_trees(&commits, |name| needs.commits.contains(name))?;
    }
    let named: HashSet<String> = needs
        .archives
        .iter()
        .flat_map(|it| archive_note_names(it))
        .collect();
    sweep.of_trees(&archives.join("trees"), |name| named.contains(name))?;
    sweep.of_trees(&revisions_directory(store), |name| {
        needs.revisions.contains(name)
    })?;
    let versions = content.join("versions");
    sweep.of_trees(&versions, |name| needs.versions.contains(name))?;
    for kind in ["md5", "locations"] {
        let is_needed = |path: &Path, _: &str| {
            read_note(path).is_some_and(|sha256| needs.archives.contains(&sha256))
        };
        sweep.of(&archives.join(kind), is_needed, |_| {})?;
    }
    for forge in entries(&archives.join("releases"))? {
        sweep.of(&forge, |_, name| needs.releases.contains(name), |_| {})?;
    }
    // The named lists are known only now.
    if !kept.cut.is_cancelled() {
        let named = std::mem::take(&mut sweep.trees);
        let trees = content.join("trees");
        sweep.of(&trees, |_, name| named.contains(name), |_| {})?;
    }
    Ok(sweep.gone)
}

struct Sweep<'a> {
    kept: &'a CollectOptions,
    /// The trees that the remaining notes name.
    trees: HashSet<String>,
    gone: usize,
}

// === impl Sweep ===

impl Sweep<'_> {
    /// Notes that name lists of files.
    fn of_trees(
        &mut self,
        directory: &Path,
        is_needed: impl Fn(&str) -> bool,
    ) -> Result<(), ContentError> {
        let mut named = Vec::new();
        self.of(
            directory,
            |_, name| is_needed(name),
            |path| named.extend(read_note(path)),
        )?;
        self.trees.extend(named);
        Ok(())
    }

    fn of(
        &mut self,
        directory: &Path,
        is_needed: impl Fn(&Path, &str) -> bool,
        mut stays: impl FnMut(&Path),
    ) -> Result<(), ContentError> {
        for path in entries(directory)? {
            if self.kept.cut.is_cancelled() {
                return Ok(());
            }
            let Some(metadata) = metadata(&path)? else {
                continue;
            };
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default();
            if is_spared(&metadata, self.kept.spare) || is_needed(&path, name) {
                stays(&path);
            } else if metadata.is_file() {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
                self.gone += 1;
            }
        }
        Ok(())
    }
}

fn metadata(path: &Path) -> Result<Option<Metadata>, ContentError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// The entries of a directory; none if it does not exist.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, ContentError> {
    let read = match fs::read_dir(directory) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", directory)(error)),
    };
    let paths = read.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<io::Result<_>>()
        .map_err(failed("read", directory))
}
