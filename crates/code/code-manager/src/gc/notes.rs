//! Notes and lists of files that no version needs: [`forget`].
//!
//! A note says which tree a commit, an archive or a version is; a tree is a list of files. The rule that must
//! hold: one that is gone costs time, and nothing else.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::Kept;
use super::needs::Needs;
use super::objects::is_spared;
use crate::archive::{read_note, tree_names};
use crate::content::{Content, ContentError, failed};

/// Where notes are.
#[derive(Debug)]
pub(super) struct Notes<'a> {
    pub(super) content: &'a Content,
    /// Of archives and releases.
    pub(super) archives: &'a Path,
    /// Of Subversion's revisions.
    pub(super) svn: &'a Path,
    /// Copies of repositories; the notes of one are beside it, in `<name>.trees`.
    pub(super) repositories: &'a Path,
}

/// Forgets what no version needs, unless it is cut off; gives how many notes and lists went.
pub(super) fn forget(notes: &Notes<'_>, needs: &Needs, kept: &Kept) -> Result<usize, ContentError> {
    let mut sweep = Sweep {
        kept,
        trees: HashSet::new(),
        gone: 0,
    };
    for entry in entries(notes.repositories)? {
        if entry.extension().is_some_and(|it| it == "trees") {
            sweep.of_trees(&entry, |name| needs.commits.contains(name))?;
        }
    }
    let named: HashSet<String> = needs
        .archives
        .iter()
        .flat_map(|it| tree_names(it))
        .collect();
    sweep.of_trees(&notes.archives.join("trees"), |name| named.contains(name))?;
    sweep.of_trees(notes.svn, |name| needs.revisions.contains(name))?;
    let versions = notes.content.root().join("versions");
    sweep.of_trees(&versions, |name| needs.versions.contains(name))?;
    for kind in ["md5", "locations"] {
        let is_needed = |path: &Path, _: &str| {
            read_note(path).is_some_and(|sha256| needs.archives.contains(&sha256))
        };
        sweep.of(&notes.archives.join(kind), is_needed, |_| {})?;
    }
    for forge in entries(&notes.archives.join("releases"))? {
        sweep.of(&forge, |_, name| needs.releases.contains(name), |_| {})?;
    }
    // Only now it is known which lists are named.
    if !kept.cut.is_cancelled() {
        let named = std::mem::take(&mut sweep.trees);
        let trees = notes.content.root().join("trees");
        sweep.of(&trees, |_, name| named.contains(name), |_| {})?;
    }
    Ok(sweep.gone)
}

struct Sweep<'a> {
    kept: &'a Kept,
    /// What the notes name that stay.
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

/// What is in a directory; nothing if it is not there.
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
