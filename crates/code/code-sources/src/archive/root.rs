//! The directory of an archive that contains the module: [`find_root`].
//!
//! Invariant: every path of the archive was checked before, including those outside of the root.

use super::entries::ArchiveMemberKind;
use super::unpack::UnpackError;
use code_store::content::TreePath;
use code_store::tree_notes::ArchiveForm;

/// The directory with a trailing slash; empty for the archive itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArchiveRoot(Vec<u8>);

const METADATA: &[u8] = b"metadata.json";

pub(super) fn find_root(
    paths: &[(Vec<u8>, ArchiveMemberKind)],
    form: ArchiveForm,
) -> Result<ArchiveRoot, UnpackError> {
    for (path, _) in paths.iter().filter(|(path, _)| !path.is_empty()) {
        // `.git` is skipped later.
        let plain = String::from_utf8_lossy(path).to_ascii_lowercase();
        if !plain.split('/').any(|part| part == ".git") {
            TreePath::new(path)?;
        }
    }
    let files = paths
        .iter()
        .filter(|(_, kind)| matches!(kind, ArchiveMemberKind::File { .. }));
    let metadata = files.filter_map(|(path, _)| {
        let before = path.strip_suffix(METADATA)?;
        let is_whole = before.is_empty() || before.ends_with(b"/");
        (is_whole && !is_hidden(before)).then_some(before)
    });
    let nearest = metadata.min_by_key(|before| (before.len(), *before));
    match (form, nearest) {
        (ArchiveForm::Release, Some(nearest)) => Ok(ArchiveRoot(nearest.to_vec())),
        (ArchiveForm::Release, None) => Err(UnpackError::NoMetadata),
        (ArchiveForm::Any, Some(nearest)) if is_the_only(paths, nearest) => {
            Ok(ArchiveRoot(nearest.to_vec()))
        }
        (ArchiveForm::Any, _) => Ok(ArchiveRoot(Vec::new())),
    }
}

/// True if a directory is one that `puppet_forge` does not search.
fn is_hidden(directory: &[u8]) -> bool {
    directory
        .split(|b| *b == b'/')
        .any(|part| part.starts_with(b"."))
}

/// True if all files are in this one directory at the top level.
fn is_the_only(paths: &[(Vec<u8>, ArchiveMemberKind)], directory: &[u8]) -> bool {
    let slashes = directory.iter().filter(|b| **b == b'/').count();
    let itself = directory.strip_suffix(b"/").unwrap_or_default();
    slashes == 1
        && paths
            .iter()
            .all(|(path, _)| path.is_empty() || path == itself || path.starts_with(directory))
}

// === impl ArchiveRoot ===

impl ArchiveRoot {
    /// The part of a path below the root; `None` if the path is the root, or outside.
    pub(super) fn strip_root<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let inner = path.strip_prefix(self.0.as_slice())?;
        (!inner.is_empty()).then_some(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str], form: ArchiveForm) -> Option<String> {
        let file = ArchiveMemberKind::File { executable: false };
        let paths: Vec<(Vec<u8>, ArchiveMemberKind)> = paths
            .iter()
            .map(|path| (path.as_bytes().to_vec(), file))
            .collect();
        let root = find_root(&paths, form).ok()?;
        Some(String::from_utf8(root.0).unwrap())
    }

    #[test]
    fn a_release_is_where_its_metadata_is() {
        for (paths, expected) in [
            (
                vec!["a-b-1/metadata.json", "a-b-1/x/metadata.json", "y"],
                Some("a-b-1/"),
            ),
            (vec!["metadata.json", "a/metadata.json"], Some("")),
            (vec!["deep/er/metadata.json"], Some("deep/er/")),
            (vec!["x/notmetadata.json"], None),
            (
                vec![".x/metadata.json", "a-b-1/metadata.json"],
                Some("a-b-1/"),
            ),
            (vec!["a/.b/metadata.json"], None),
            (vec!["a/metadata.json", "../x"], None),
            (vec!["a/metadata.json", "/etc/x"], None),
        ] {
            assert_eq!(
                found(&paths, ArchiveForm::Release).as_deref(),
                expected,
                "{paths:?}"
            );
        }
    }

    #[test]
    fn any_archive_is_taken_as_it_is_unless_it_is_a_release() {
        for (paths, expected) in [
            (vec!["a/metadata.json", "a/x"], "a/"),
            (vec!["a/metadata.json", "b"], ""),
            (vec!["a/b/metadata.json"], ""),
            (vec!["metadata.json", "x"], ""),
            (vec!["a/x"], ""),
        ] {
            assert_eq!(
                found(&paths, ArchiveForm::Any).as_deref(),
                Some(expected),
                "{paths:?}"
            );
        }
    }
}
