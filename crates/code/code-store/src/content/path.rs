//! [`TreePath`]: the path of a file in a tree.
//!
//! Invariant: joined to a directory, it names an entry inside that directory, and never one of
//! git's own files.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::defaults::{NAME_BYTES, PATH_BYTES};

/// A relative path of bytes, since file names are not always UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Box<[u8]>);

/// Reason that bytes are not a valid path in a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path {shown:?} {why}")]
pub struct TreePathError {
    shown: String,
    why: &'static str,
}

// === impl TreePath ===

impl TreePath {
    /// Parses a path whose parts are separated by single slashes.
    pub fn new(bytes: &[u8]) -> Result<Self, TreePathError> {
        match find_fault(bytes) {
            None => Ok(Self(bytes.into())),
            Some(why) => Err(TreePathError {
                shown: String::from_utf8_lossy(&bytes[..bytes.len().min(NAME_BYTES)]).into_owned(),
                why,
            }),
        }
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the directories above the path, the nearest first.
    pub fn parents(&self) -> impl Iterator<Item = &[u8]> {
        let slashes = self.0.iter().enumerate().rev();
        let slashes = slashes.filter(|(_, byte)| **byte == b'/');
        slashes.map(|(index, _)| &self.0[..index])
    }

    /// Returns true if the path is this directory or below it.
    pub fn is_below(&self, directory: &[u8]) -> bool {
        let rest = self.0.strip_prefix(directory);
        rest.is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
    }

    /// Returns true if a link at this path with this target stays in the tree.
    pub(crate) fn holds_link(&self, target: &[u8]) -> bool {
        if target.is_empty() || target.first() == Some(&b'/') || target.contains(&0) {
            return false;
        }
        let mut depth = self.0.iter().filter(|b| **b == b'/').count();
        for part in target.split(|b| *b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => match depth.checked_sub(1) {
                    Some(up) => depth = up,
                    None => return false,
                },
                _ => depth += 1,
            }
        }
        true
    }
}

impl Borrow<[u8]> for TreePath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<Path> for TreePath {
    fn as_ref(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreePath({self})")
    }
}

fn find_fault(bytes: &[u8]) -> Option<&'static str> {
    if bytes.len() > PATH_BYTES {
        return Some("is too long");
    }
    if bytes.contains(&0) {
        return Some("has a NUL in it");
    }
    let mut wrong = None;
    for part in bytes.split(|b| *b == b'/') {
        wrong = wrong.or(match part {
            b"" => Some("is empty, absolute or has an empty part"),
            b"." | b".." => Some("has a part that is no name"),
            part if part.len() > NAME_BYTES => Some("has a name that is too long"),
            part if part.eq_ignore_ascii_case(b".git") => Some("has git's own directory in it"),
            _ => None,
        });
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in [
            "a",
            "a/b",
            ".fixtures.yml",
            "a/.gitignore",
            "ä/b c",
            "a\nb",
            "-x",
        ] {
            assert_eq!(TreePath::new(good.as_bytes()).unwrap().to_string(), good);
        }
        let long = "a/".repeat(3_000) + "a";
        let name = "a".repeat(256);
        for bad in [
            "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".git/x", "a/.GIT",
            "a\0b", &long, &name,
        ] {
            assert!(TreePath::new(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn links_stay_inside() {
        let path = |text: &str| TreePath::new(text.as_bytes()).unwrap();
        for (from, to, holds) in [
            ("a", "b", true),
            ("a/b", "../c", true),
            ("a/b/c", "../../d/../e", true),
            ("spec/fixtures/modules/x", "../../../", true),
            ("a", "..", false),
            ("a/b", "../../c", false),
            ("a", "/etc/passwd", false),
            ("a", "", false),
            ("a", "b/../../c", false),
        ] {
            assert_eq!(
                path(from).holds_link(to.as_bytes()),
                holds,
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn below_means_whole_parts() {
        let path = TreePath::new(b"modules/apt/x").unwrap();
        assert!(path.is_below(b"modules/apt"));
        assert!(path.is_below(b"modules/apt/x"));
        assert!(!path.is_below(b"modules/ap"));
        let parents: Vec<&[u8]> = path.parents().collect();
        assert_eq!(parents, [b"modules/apt".as_slice(), b"modules"]);
    }
}
