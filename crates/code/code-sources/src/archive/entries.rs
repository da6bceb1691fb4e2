//! The entries of a tar, with the names from extensions. Main type: [`ArchiveEntries`].
//!
//! The `tar` crate would read an extension of any size into memory, so it only returns plain
//! entries here and the extensions (GNU's long names, pax) are parsed in this module, with limits.

use std::io::Read;

use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::unpack::UnpackError;
use crate::defaults::{ARCHIVE_DEPTH, ARCHIVE_ENTRIES, ARCHIVE_EXTENSION_BYTES};

/// A file, directory or link in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveMember {
    /// Path without `./` and without a trailing slash; empty for the root itself.
    pub(super) path: Vec<u8>,
    pub(super) kind: ArchiveMemberKind,
    /// Target of a link; empty for other kinds.
    pub(super) target: Vec<u8>,
    pub(super) size_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArchiveMemberKind {
    File { executable: bool },
    Directory,
    Link,
}

pub(super) struct ArchiveEntries<'a, R: Read> {
    raw: tar::Entries<'a, R>,
    count: usize,
}

/// The values from extensions for the entry that follows them.
#[derive(Default)]
struct EntryExtensions {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size_bytes: Option<u64>,
}

// === impl ArchiveEntries ===

impl<'a, R: Read> ArchiveEntries<'a, R> {
    pub(crate) fn of(archive: &'a mut Archive<R>) -> Result<Self, UnpackError> {
        let raw = archive.entries()?.raw(true);
        Ok(Self { raw, count: 0 })
    }

    /// The next entry, and its content.
    pub(super) fn next(&mut self) -> Result<Option<(ArchiveMember, Entry<'a, R>)>, UnpackError> {
        let mut said = EntryExtensions::default();
        for entry in self.raw.by_ref() {
            let mut entry = entry?;
            self.count += 1;
            if self.count > ARCHIVE_ENTRIES {
                return Err(UnpackError::Entries);
            }
            if !said.read(&mut entry)? {
                return Ok(Some((to_member(&entry, said)?, entry)));
            }
        }
        Ok(None)
    }
}

// === impl EntryExtensions ===

impl EntryExtensions {
    /// Parses an extension; returns true if the entry was one.
    fn read(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<bool, UnpackError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.path = Some(read_text(entry)?),
            EntryType::GNULongLink => self.target = Some(read_text(entry)?),
            EntryType::XHeader => self.read_pax(&read_extension(entry)?)?,
            // Comments for the whole archive, as `git archive` writes them.
            EntryType::XGlobalHeader => drop(read_extension(entry)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_pax(&mut self, bytes: &[u8]) -> Result<(), UnpackError> {
        for record in PaxExtensions::new(bytes) {
            let record = record?;
            let value = record.value_bytes();
            match record.key_bytes() {
                b"path" => self.path = Some(value.to_vec()),
                b"linkpath" => self.target = Some(value.to_vec()),
                b"size" => {
                    self.size_bytes = std::str::from_utf8(value)
                        .ok()
                        .and_then(|it| it.parse().ok())
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_text(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, UnpackError> {
    let mut bytes = read_extension(entry)?;
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    Ok(bytes)
}

fn read_extension(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, UnpackError> {
    if entry.header().entry_size()? > ARCHIVE_EXTENSION_BYTES {
        return Err(damaged("an extension of a name is too long"));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn damaged(what: &'static str) -> UnpackError {
    UnpackError::Damaged(std::io::Error::new(std::io::ErrorKind::InvalidData, what))
}

fn to_member(
    entry: &Entry<'_, impl Read>,
    said: EntryExtensions,
) -> Result<ArchiveMember, UnpackError> {
    let header = entry.header();
    let path = said
        .path
        .unwrap_or_else(|| header.path_bytes().into_owned());
    let shown = || String::from_utf8_lossy(&path).into_owned();
    let kind = match header.entry_type() {
        // Archives older than entry types, and programs that still write this form.
        EntryType::Regular if path.ends_with(b"/") => ArchiveMemberKind::Directory,
        EntryType::Regular | EntryType::Continuous => ArchiveMemberKind::File {
            executable: header.mode()? & 0o100 != 0,
        },
        EntryType::Directory => ArchiveMemberKind::Directory,
        EntryType::Symlink => ArchiveMemberKind::Link,
        other => {
            return Err(UnpackError::Kind {
                path: shown(),
                kind: match other {
                    EntryType::Link => "a hard link",
                    EntryType::Char | EntryType::Block => "a device",
                    EntryType::Fifo => "a pipe",
                    _ => "of a kind that is not known",
                },
            });
        }
    };
    let size_bytes = header.entry_size()?;
    if said.size_bytes.is_some_and(|said| said != size_bytes) {
        return Err(damaged("an entry has two sizes"));
    }
    let path = normalize_path(&path);
    if path.split(|b| *b == b'/').count() > ARCHIVE_DEPTH {
        let path = String::from_utf8_lossy(&path).into_owned();
        return Err(UnpackError::Depth { path });
    }
    let target = said
        .target
        .or_else(|| Some(header.link_name_bytes()?.into_owned()));
    Ok(ArchiveMember {
        path,
        kind,
        target: target.unwrap_or_default(),
        size_bytes,
    })
}

/// Normalizes a path: `./a//b/` becomes `a/b`. A path that leads outside stays unchanged, and is
/// refused later.
fn normalize_path(path: &[u8]) -> Vec<u8> {
    let is_absolute = path.first() == Some(&b'/');
    let parts = path.split(|b| *b == b'/');
    let parts: Vec<&[u8]> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
    let mut normal = parts.join(&b'/');
    if is_absolute {
        normal.insert(0, b'/');
    }
    normal
}
