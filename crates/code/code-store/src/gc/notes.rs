//! Removal of notes and lists of files that no version needs. Main function: [`remove_unneeded`].
//!
//! A note names the tree of a commit, an archive or a version; a tree is a list of files.
//! Invariant: a missing note costs only time.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::GcOptions;
use super::needs::NeededObjects;
use super::objects::is_recent;
use crate::content::{ContentError, content_error};
use crate::notes::read_note;
use crate::tree_notes::{
    archive_note_names, archives_directory, commits_directories, revisions_directory,
};
use crate::version::VersionStore;

/// Removes unneeded notes and lists, unless it is interrupted; returns the number of removed ones.
pub(super) fn remove_unneeded(
    versions: &VersionStore,
    needs: &NeededObjects,
    kept: &GcOptions,
) -> Result<usize, ContentError> {
    let (store, content) = (versions.directory(), versions.content().root());
    let archives = archives_directory(store);
    let mut sweep = NoteSweep {
        options: kept,
        trees: HashSet::new(),
        removed: 0,
    };
    for commits in commits_directories(store)? {
        sweep.sweep_tree_notes(&commits, |name| needs.commits.contains(name))?;
    }
    let named: HashSet<String> = needs
        .archives
        .iter()
        .flat_map(|it| archive_note_names(it))
        .collect();
    sweep.sweep_tree_notes(&archives.join("trees"), |name| named.contains(name))?;
    sweep.sweep_tree_notes(&revisions_directory(store), |name| {
        needs.revisions.contains(name)
    })?;
    let versions = content.join("versions");
    sweep.sweep_tree_notes(&versions, |name| needs.versions.contains(name))?;
    for kind in ["md5", "locations"] {
        let is_needed = |path: &Path, _: &str| {
            read_note(path).is_some_and(|sha256| needs.archives.contains(&sha256))
        };
        sweep.sweep_directory(&archives.join(kind), is_needed, |_| {})?;
    }
    for forge in list_entries(&archives.join("releases"))? {
        sweep.sweep_directory(&forge, |_, name| needs.releases.contains(name), |_| {})?;
    }
    // Now the lists that the remaining notes name are known.
    if !kept.cut.is_cancelled() {
        let named = std::mem::take(&mut sweep.trees);
        let trees = content.join("trees");
        sweep.sweep_directory(&trees, |_, name| named.contains(name), |_| {})?;
    }
    Ok(sweep.removed)
}

struct NoteSweep<'a> {
    options: &'a GcOptions,
    /// The trees that the remaining notes name.
    trees: HashSet<String>,
    removed: usize,
}

// === impl NoteSweep ===

impl NoteSweep<'_> {
    /// Notes that name lists of files.
    fn sweep_tree_notes(
        &mut self,
        directory: &Path,
        is_needed: impl Fn(&str) -> bool,
    ) -> Result<(), ContentError> {
        let mut named = Vec::new();
        self.sweep_directory(
            directory,
            |_, name| is_needed(name),
            |path| named.extend(read_note(path)),
        )?;
        self.trees.extend(named);
        Ok(())
    }

    fn sweep_directory(
        &mut self,
        directory: &Path,
        is_needed: impl Fn(&Path, &str) -> bool,
        mut stays: impl FnMut(&Path),
    ) -> Result<(), ContentError> {
        for path in list_entries(directory)? {
            if self.options.cut.is_cancelled() {
                return Ok(());
            }
            let Some(metadata) = read_metadata(&path)? else {
                continue;
            };
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default();
            if is_recent(&metadata, self.options.spare) || is_needed(&path, name) {
                stays(&path);
            } else if metadata.is_file() {
                fs::remove_file(&path).map_err(content_error("remove", &path))?;
                self.removed += 1;
            }
        }
        Ok(())
    }
}

fn read_metadata(path: &Path) -> Result<Option<Metadata>, ContentError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(content_error("read", path)(error)),
    }
}

/// The entries of a directory; none if it does not exist.
fn list_entries(directory: &Path) -> Result<Vec<PathBuf>, ContentError> {
    let read = match fs::read_dir(directory) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(content_error("read", directory)(error)),
    };
    let paths = read.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<io::Result<_>>()
        .map_err(content_error("read", directory))
}
