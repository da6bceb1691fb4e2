//! Unpacking of an archive (`tar.gz`) into the store. Main function: [`unpack`].
//!
//! The archive is read twice: the first pass only checks it, so that nothing of a refused archive
//! is ever written. Invariants: no path leaves the module; anything but files, directories and
//! links is refused; and size, count, depth and names are limited while they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::entries::{ArchiveEntries, ArchiveMember, ArchiveMemberKind};
use super::root::find_root;
use crate::defaults::ARCHIVE_UNPACKED_BYTES;
use code_store::content::{
    ContentError, ContentStore, IntakeError, TreeId, TreeManifest, TreePath, TreePathError,
};
use code_store::defaults::FILE_BYTES;
use code_store::tree_notes::ArchiveForm;

/// The error for an archive that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive is damaged, or is not a `tar.gz`.
    #[error("it cannot be unpacked as a tar.gz")]
    Damaged(#[from] io::Error),
    /// The archive is empty.
    #[error("it holds nothing")]
    Empty,
    /// The unpacked content exceeds the limit.
    #[error("it unpacks to more than {ARCHIVE_UNPACKED_BYTES} bytes")]
    Bomb,
    /// A path is invalid.
    #[error(transparent)]
    Path(#[from] TreePathError),
    /// The archive has more entries than the limit.
    #[error("it has more than {} entries", crate::defaults::ARCHIVE_ENTRIES)]
    Entries,
    /// A path has more directories than the limit.
    #[error(
        "{path:?} stands in more than {} directories",
        crate::defaults::ARCHIVE_DEPTH
    )]
    Depth {
        /// The path of the entry.
        path: String,
    },
    /// An entry is a device, a pipe or a hard link.
    #[error("{path:?} is {kind}, which no module needs")]
    Kind {
        /// The path of the entry.
        path: String,
        /// The kind of the entry.
        kind: &'static str,
    },
    /// A release has no `metadata.json`.
    #[error("it has no metadata.json, so it is no release of a module")]
    NoMetadata,
    /// A file cannot be stored.
    #[error(transparent)]
    Intake(#[from] IntakeError),
}

impl From<ContentError> for UnpackError {
    fn from(error: ContentError) -> Self {
        Self::Intake(error.into())
    }
}

/// A tree from an archive, and the entries of the archive that it omits.
pub(crate) struct UnpackedTree {
    pub(crate) id: TreeId,
    pub(crate) manifest: TreeManifest,
    pub(crate) skipped: Vec<String>,
}

/// Unpacks an archive into the store. Blocks.
pub(crate) fn unpack(
    archive: &Path,
    form: ArchiveForm,
    content: &ContentStore,
) -> Result<UnpackedTree, UnpackError> {
    let mut paths = Vec::new();
    read(archive, |member, _| {
        paths.push((member.path.clone(), member.kind));
        Ok(())
    })?;
    if paths.is_empty() {
        return Err(UnpackError::Empty);
    }
    let root = find_root(&paths, form)?;
    let mut intake = content.begin_intake()?;
    let mut skipped = Vec::new();
    read(archive, |member, data| {
        let Some(path) = root.strip_root(&member.path) else {
            return Ok(());
        };
        if is_gits_own(path) {
            skipped.push(String::from_utf8_lossy(path).into_owned());
            return Ok(());
        }
        let path = TreePath::new(path)?;
        match member.kind {
            ArchiveMemberKind::Directory => {}
            ArchiveMemberKind::Link if form == ArchiveForm::Release => {
                skipped.push(path.to_string())
            }
            ArchiveMemberKind::Link => intake.add_link(path, &member.target)?,
            ArchiveMemberKind::File { executable } => {
                if member.size_bytes > FILE_BYTES {
                    return Err(IntakeError::TooLarge(path).into());
                }
                let mut bytes = Vec::new();
                data.read_to_end(&mut bytes)?;
                intake.add_file(path, &bytes, executable)?;
            }
        }
        Ok(())
    })?;
    let (id, manifest) = intake.finish()?;
    Ok(UnpackedTree {
        id,
        manifest,
        skipped,
    })
}

/// True for paths in git's own directory, which some archives contain by mistake and no tree may
/// contain.
fn is_gits_own(path: &[u8]) -> bool {
    path.split(|b| *b == b'/')
        .any(|part| part.eq_ignore_ascii_case(b".git"))
}

fn read(
    archive: &Path,
    each: impl FnMut(&ArchiveMember, &mut dyn Read) -> Result<(), UnpackError>,
) -> Result<(), UnpackError> {
    let file = BufReader::new(File::open(archive)?);
    read_at_most(ARCHIVE_UNPACKED_BYTES, file, each)
}

fn read_at_most(
    most_bytes: u64,
    packed: impl BufRead,
    each: impl FnMut(&ArchiveMember, &mut dyn Read) -> Result<(), UnpackError>,
) -> Result<(), UnpackError> {
    let plain = MultiGzDecoder::new(packed).take(most_bytes + 1);
    let mut tar = tar::Archive::new(plain);
    let ended = read_all(&mut tar, each);
    // The gzip checksum is after the end of the tar.
    let mut plain = tar.into_inner();
    let ended = ended.and_then(|()| Ok(io::copy(&mut plain, &mut io::sink())?));
    // A truncated archive appears to be damaged, or to end.
    match plain.limit() {
        0 => Err(UnpackError::Bomb),
        _ => ended.map(drop),
    }
}

fn read_all(
    tar: &mut tar::Archive<impl Read>,
    mut each: impl FnMut(&ArchiveMember, &mut dyn Read) -> Result<(), UnpackError>,
) -> Result<(), UnpackError> {
    let mut entries = ArchiveEntries::of(tar)?;
    while let Some((member, mut data)) = entries.next()? {
        each(&member, &mut data)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// An archive of some KB that unpacks to a MB.
    fn bomb() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(1 << 20);
        header.set_mode(0o644);
        let data = vec![0; 1 << 20];
        tar.append_data(&mut header, "x", data.as_slice()).unwrap();
        let level = flate2::Compression::fast();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), level);
        gz.write_all(&tar.into_inner().unwrap()).unwrap();
        gz.finish().unwrap()
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused_before_it_did() {
        let bomb = bomb();
        assert!(bomb.len() < 20_000);
        let mut seen = 0;
        let mut look = |most_bytes| {
            read_at_most(most_bytes, bomb.as_slice(), |member, data| {
                seen += io::copy(data, &mut io::sink())?;
                assert_eq!(member.size_bytes, 1 << 20);
                Ok(())
            })
        };
        look(2 << 20).unwrap();
        let error = look(1 << 19).unwrap_err();
        assert!(matches!(error, UnpackError::Bomb), "{error}");
        // Only the part after the last file exceeds the limit.
        let error = look((1 << 20) + 600).unwrap_err();
        assert!(matches!(error, UnpackError::Bomb), "{error}");
        assert!(seen < 3 << 20);
    }
}
