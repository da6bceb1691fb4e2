//! [`TreeManifest`]: the entries of a tree, and their stored text.
//!
//! Invariant: the same content has the same text, and so the same [`TreeId`].

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use sha2::Digest as _;

use super::path::TreePath;
use crate::defaults::{TREE_BYTES, TREE_FILES};

/// The hash of a content: of a file, or of a manifest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

/// Identifies a tree by its content.
pub type TreeId = ContentHash;

/// A file or a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// A regular file.
    File {
        /// SHA-256 of the content.
        sha256: ContentHash,
        /// Size of the content, in bytes.
        size_bytes: u64,
        /// True if the file is executable.
        executable: bool,
    },
    /// A link to something in the same tree.
    Link {
        /// Target of the link, as written.
        target: Box<[u8]>,
    },
}

/// The entries of a tree, by path. Directories exist only through the files in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeManifest {
    entries: BTreeMap<TreePath, TreeEntry>,
    bytes: u64,
}

/// Reason that an entry cannot be in a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A path occurs twice, or is both a file and a directory.
    #[error("{0} stands in the tree twice")]
    Twice(TreePath),
    /// A link that leaves the tree.
    #[error("{path} is a link that leaves its tree: {target}")]
    Leaves {
        /// Path of the link.
        path: TreePath,
        /// Target of the link.
        target: String,
    },
    /// The tree has more than [`TREE_FILES`] files and links.
    #[error("it has more than {TREE_FILES} files")]
    Files,
    /// The tree has more than [`TREE_BYTES`] bytes.
    #[error("it has more than {TREE_BYTES} bytes")]
    Bytes,
}

/// A stored manifest is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is damaged in entry {0}")]
pub struct DamagedManifest(usize);

const HEADER: &[u8] = b"tutti-tree 1\0";

// === impl ContentHash ===

impl ContentHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl From<[u8; 32]> for ContentHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = ();

    /// Parses 64 lower-case hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.as_bytes();
        let is_digit = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.iter().all(is_digit) {
            return Err(());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let pair = text.get(index * 2..index * 2 + 2).ok_or(())?;
            *byte = u8::from_str_radix(pair, 16).map_err(drop)?;
        }
        Ok(Self(bytes))
    }
}

// === impl TreeManifest ===

impl TreeManifest {
    /// Adds a file or a link.
    pub fn add(&mut self, path: TreePath, entry: TreeEntry) -> Result<(), ManifestError> {
        if let TreeEntry::Link { target } = &entry
            && !path.holds_link(target)
        {
            let target = String::from_utf8_lossy(target).into_owned();
            return Err(ManifestError::Leaves { path, target });
        }
        if let TreeEntry::File { size_bytes, .. } = &entry {
            self.bytes = self.bytes.saturating_add(*size_bytes);
        }
        if self.bytes > TREE_BYTES {
            return Err(ManifestError::Bytes);
        }
        if self.entries.len() >= TREE_FILES {
            return Err(ManifestError::Files);
        }
        if self.entries.contains_key(&path) {
            return Err(ManifestError::Twice(path));
        }
        self.entries.insert(path, entry);
        Ok(())
    }

    /// Fails if an entry is below a file or a link.
    pub fn check_paths(&self) -> Result<(), ManifestError> {
        for path in self.entries.keys() {
            let mut above = path.parents();
            if let Some(taken) = above.find_map(|parent| self.entries.get_key_value(parent)) {
                return Err(ManifestError::Twice(taken.0.clone()));
            }
        }
        Ok(())
    }

    /// Returns the entries, ordered by path.
    pub fn entries(&self) -> impl Iterator<Item = (&TreePath, &TreeEntry)> {
        self.entries.iter()
    }

    /// Returns the entry at this path.
    pub fn get(&self, path: &[u8]) -> Option<&TreeEntry> {
        self.entries.get(path)
    }

    /// Returns the number of files and links.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the total size of all files, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the tree's id and its text for storage.
    pub fn encode(&self) -> (TreeId, Vec<u8>) {
        let mut text = HEADER.to_vec();
        for (path, entry) in &self.entries {
            match entry {
                TreeEntry::File {
                    sha256,
                    size_bytes,
                    executable,
                } => {
                    let kind = if *executable { 'x' } else { 'f' };
                    text.extend_from_slice(format!("{kind} {sha256} {size_bytes} ").as_bytes());
                    text.extend_from_slice(path.as_bytes());
                }
                TreeEntry::Link { target } => {
                    text.extend_from_slice(format!("l {} ", target.len()).as_bytes());
                    text.extend_from_slice(target);
                    text.push(b' ');
                    text.extend_from_slice(path.as_bytes());
                }
            }
            text.push(0);
        }
        (TreeId::of(&text), text)
    }

    /// Reads the text that [`encode`](Self::encode) wrote.
    pub fn decode(text: &[u8]) -> Result<Self, DamagedManifest> {
        let mut rest = text.strip_prefix(HEADER).ok_or(DamagedManifest(0))?;
        let mut manifest = Self::default();
        while !rest.is_empty() {
            let damaged = DamagedManifest(manifest.len() + 1);
            let end = rest.iter().position(|b| *b == 0).ok_or(damaged.clone())?;
            let (path, entry) = decode_entry(&rest[..end]).ok_or(damaged.clone())?;
            manifest.add(path, entry).map_err(|_| damaged)?;
            rest = &rest[end + 1..];
        }
        Ok(manifest)
    }
}

fn decode_entry(text: &[u8]) -> Option<(TreePath, TreeEntry)> {
    let (kind, rest) = split_word(text)?;
    if kind == b"l" {
        let (length, rest) = split_word(rest)?;
        let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
        let (target, path) = rest.split_at_checked(length)?;
        let path = path.strip_prefix(b" ")?;
        let target = target.into();
        return Some((TreePath::new(path).ok()?, TreeEntry::Link { target }));
    }
    let (sha256, rest) = split_word(rest)?;
    let (size, path) = split_word(rest)?;
    let entry = TreeEntry::File {
        sha256: std::str::from_utf8(sha256).ok()?.parse().ok()?,
        size_bytes: std::str::from_utf8(size).ok()?.parse().ok()?,
        executable: match kind {
            b"x" => true,
            b"f" => false,
            _ => return None,
        },
    };
    Some((TreePath::new(path).ok()?, entry))
}

fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().position(|b| *b == b' ')?;
    Some((&text[..space], &text[space + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(paths: &[&str]) -> Result<TreeManifest, ManifestError> {
        let mut manifest = TreeManifest::default();
        for path in paths {
            let entry = TreeEntry::File {
                sha256: ContentHash::of(path.as_bytes()),
                size_bytes: 7,
                executable: path.ends_with(".sh"),
            };
            manifest.add(TreePath::new(path.as_bytes()).unwrap(), entry)?;
        }
        manifest.check_paths()?;
        Ok(manifest)
    }

    #[test]
    fn it_is_read_back() {
        let mut one = manifest(&["b/c d", "a.sh", "b/e\nf"]).unwrap();
        let link = TreeEntry::Link {
            target: (*b"../a .sh").into(),
        };
        one.add(TreePath::new(b"b/link").unwrap(), link).unwrap();
        let (id, text) = one.encode();
        assert_eq!(TreeManifest::decode(&text), Ok(one));
        assert_eq!(id.to_string().parse(), Ok(id));
        for cut in 0..text.len() {
            if let Ok(part) = TreeManifest::decode(&text[..cut]) {
                assert_ne!(part.encode().0, id);
            }
        }
    }

    #[test]
    fn order_does_not_matter() {
        let (one, other) = (manifest(&["a", "b"]), manifest(&["b", "a"]));
        assert_eq!(one.unwrap().encode().0, other.unwrap().encode().0);
    }

    #[test]
    fn nothing_is_there_twice() {
        assert!(manifest(&["a", "a"]).is_err());
        assert!(manifest(&["a/b/c", "a/b"]).is_err());
        assert!(manifest(&["a/b/c", "a"]).is_err());
        assert!(manifest(&["a/b/c", "a/bc", "a.b"]).is_ok());
    }
}
