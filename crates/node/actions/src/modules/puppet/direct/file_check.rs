//! Compares the files of this node with what its catalog says of them: [`find_drift`].
//!
//! Invariants: nothing is changed, no link is followed, and nothing is opened that is not a regular file.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::cached_catalog::CachedCatalog;
use super::expected_file::{ExpectedAttributes, ExpectedFile, ExpectedState, ExpectedTree};
use crate::defaults::{CHECKED_FILE_CHUNK_BYTES, CHECKED_TREE_ENTRIES};

/// A file that is not as the catalog says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDrift {
    pub(super) path: PathBuf,
    pub(super) difference: String,
}

/// The files that are not as the catalog says, in the order of the catalog.
pub(super) fn find_drift(catalog: &CachedCatalog) -> Vec<FileDrift> {
    let of_file = |file: &ExpectedFile| check_file(file, &catalog.declared);
    catalog.files.iter().filter_map(of_file).collect()
}

/// The first difference of a file, or of something below it.
fn check_file(file: &ExpectedFile, declared: &HashSet<PathBuf>) -> Option<FileDrift> {
    let own = check_entry(&file.path, &file.state, file.attributes);
    own.or_else(|| {
        let tree = file.tree.as_ref()?;
        check_tree(&file.path, tree, file.attributes, declared)
    })
}

fn check_tree(
    root: &Path,
    tree: &ExpectedTree,
    attributes: ExpectedAttributes,
    declared: &HashSet<PathBuf>,
) -> Option<FileDrift> {
    let of_source = tree.entries.iter().find_map(|(relative, state)| {
        let path = root.join(relative);
        // a resource of its own says more
        match declared.contains(&path) {
            true => None,
            false => check_entry(&path, state, attributes),
        }
    });
    let covers_others =
        tree.purges || (tree.covers_others && attributes != ExpectedAttributes::default());
    if of_source.is_some() || !covers_others {
        return of_source;
    }
    let others = match other_entries(root, tree, declared) {
        Ok(others) => others,
        Err(error) => {
            return Some(drift(
                root,
                format!("its entries cannot be listed: {error}"),
            ));
        }
    };
    others.iter().find_map(|path| match tree.purges {
        true => Some(drift(path, "it is to be removed")),
        false => check_entry(path, &ExpectedState::Present, attributes),
    })
}

/// Everything below a directory that neither its source nor another resource names.
fn other_entries(
    root: &Path,
    tree: &ExpectedTree,
    declared: &HashSet<PathBuf>,
) -> io::Result<Vec<PathBuf>> {
    let mut others = Vec::new();
    let mut directories = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            seen += 1;
            if seen > CHECKED_TREE_ENTRIES {
                return Err(io::Error::other(format!(
                    "there are more than {CHECKED_TREE_ENTRIES}"
                )));
            }
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                directories.push(path.clone());
            }
            let relative = path.strip_prefix(root).unwrap_or(&path);
            if !tree.entries.contains_key(relative) && !declared.contains(&path) {
                others.push(path);
            }
        }
    }
    Ok(others)
}

fn check_entry(
    path: &Path,
    state: &ExpectedState,
    attributes: ExpectedAttributes,
) -> Option<FileDrift> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
        Err(error) => return Some(drift(path, format!("it cannot be looked at: {error}"))),
    };
    let Some(found) = found else {
        return match state {
            ExpectedState::Absent | ExpectedState::Unmanaged => None,
            _ => Some(drift(path, "it is missing")),
        };
    };
    let difference = match state {
        ExpectedState::Absent => Some("it is to be absent".to_owned()),
        ExpectedState::Present | ExpectedState::Unmanaged => None,
        ExpectedState::Directory if found.is_dir() => None,
        ExpectedState::Directory => Some("it is no directory".to_owned()),
        ExpectedState::Link(target) => check_link(path, &found, target),
        ExpectedState::File(_) if !found.is_file() => Some("it is no regular file".to_owned()),
        ExpectedState::File(None) => None,
        ExpectedState::File(Some(sha256)) => check_content(path, sha256),
    };
    let difference = difference.or_else(|| check_attributes(&found, attributes));
    difference.map(|difference| drift(path, difference))
}

fn check_link(path: &Path, found: &Metadata, target: &Path) -> Option<String> {
    if !found.is_symlink() {
        return Some("it is no link".to_owned());
    }
    match fs::read_link(path) {
        Ok(found) if found == target => None,
        Ok(found) => Some(format!("it leads to {}", found.display())),
        Err(error) => Some(format!("it cannot be read: {error}")),
    }
}

fn check_content(path: &Path, expected: &[u8; 32]) -> Option<String> {
    match hash_file(path) {
        Ok(found) if found == *expected => None,
        Ok(_) => Some("its content is another one".to_owned()),
        Err(error) => Some(format!("it cannot be read: {error}")),
    }
}

fn hash_file(path: &Path) -> io::Result<[u8; 32]> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let mut file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file any more"));
    }
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHECKED_FILE_CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&chunk[..count]),
        }
    }
}

fn check_attributes(found: &Metadata, expected: ExpectedAttributes) -> Option<String> {
    if expected.uid.is_some_and(|uid| uid != found.uid()) {
        return Some(format!("its owner is {}", found.uid()));
    }
    if expected.gid.is_some_and(|gid| gid != found.gid()) {
        return Some(format!("its group is {}", found.gid()));
    }
    // links have no permissions
    let mode = expected.mode.filter(|_| !found.is_symlink())?;
    // as in Puppet, who may read a directory may search it
    let mode = match found.is_dir() {
        true => mode | ((mode & 0o444) >> 2),
        false => mode,
    };
    let found = found.mode() & 0o7777;
    (found != mode).then(|| format!("its mode is {found:04o}"))
}

fn drift(path: &Path, difference: impl Into<String>) -> FileDrift {
    FileDrift {
        path: path.to_owned(),
        difference: difference.into(),
    }
}
