//! The spool directory as a whole: [`Spool`].
//!
//! Invariant: an entry is created in one step (`rename`) and is on disk before [`Spool::create`]
//! returns, so a transaction id is either new or known.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pki::durable;
use pxp::TransactionId;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use uuid::Uuid;

use super::entry::METADATA_FILE;
use super::{SpoolEntry, TransactionRecord};

/// File with the spool's id. Its first character keeps it from being a transaction id; but it is
/// not hidden, so that `rm -rf spool/*` removes it along with the entries, and removes it first.
pub(super) const ID_FILE: &str = "+spool-id";
/// Names that begin with a dot are never transaction ids.
const NEW_PREFIX: &str = ".new-";
const SCRATCH_DIRECTORY: &str = ".blocking";
pub(super) const PURGE_PREFIX: &str = ".purge-";

/// The directory of all entries.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    directory: PathBuf,
}

/// The spool cannot be used; the agent cannot run without one.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the spool directory {directory}: {source}; check `spool-dir` and its owner")]
pub struct OpenSpoolError {
    directory: PathBuf,
    source: io::Error,
}

/// Reason for which no entry was created for a transaction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateEntryError {
    #[error("the transaction is known")]
    Exists,
    #[error("cannot record the request in {directory}: {source}")]
    Io {
        directory: PathBuf,
        source: io::Error,
    },
}

impl Spool {
    /// Opens the spool, creates it if needed, and proves that it is writable.
    pub(crate) fn open(directory: &Path) -> Result<Self, OpenSpoolError> {
        let open = || -> io::Result<Self> {
            make_directory(directory)?;
            let directory = directory.canonicalize()?;
            make_directory(&directory.join(SCRATCH_DIRECTORY))?;
            let spool = Self { directory };
            spool.id()?;
            spool.remove_leftovers()?;
            Ok(spool)
        };
        open().map_err(|source| OpenSpoolError {
            directory: directory.to_owned(),
            source,
        })
    }

    /// The id of the spool; a new one if there is none. To be announced before requests arrive.
    pub(crate) fn id(&self) -> io::Result<Uuid> {
        let path = self.directory.join(ID_FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => match text.trim().parse() {
                Ok(id) => return Ok(id),
                // Unreadable: a new id is the only truthful answer.
                Err(_) => std::fs::remove_file(&path)?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let id = Uuid::new_v4();
        durable::create_new(&path, format!("{id}\n").as_bytes(), 0o640)
            .map_err(|error| error.source)?;
        // If another process was faster, its id counts.
        std::fs::read_to_string(&path)?
            .trim()
            .parse()
            .map_err(io::Error::other)
    }

    /// The id on the disk now, or none: in that case entries may be gone with it. Read after an
    /// entry was not found, it proves that there was none.
    pub(crate) fn verified_id(&self) -> Option<Uuid> {
        let text = std::fs::read_to_string(self.directory.join(ID_FILE)).ok()?;
        text.trim().parse().ok()
    }

    /// Removes the id, durably, before entries are removed. Needs no disk space, so that a full
    /// disk can be purged too; the next [`Spool::id`] creates the new id.
    pub(super) fn forget_id(&self) -> io::Result<()> {
        durable::remove(&self.directory.join(ID_FILE)).map_err(|error| error.source)?;
        Ok(())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the entry of a new transaction; it is on disk on return.
    pub(crate) fn create(
        &self,
        record: &TransactionRecord,
    ) -> Result<SpoolEntry, CreateEntryError> {
        let directory = self.path_of(&record.transaction_id);
        // Checked even if the disk is full: a known transaction is never reported as not run.
        if directory.exists() {
            return Err(CreateEntryError::Exists);
        }
        match self.create_at(&directory, &record.to_bytes()) {
            Ok(()) => Ok(SpoolEntry::at(directory)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
                ) =>
            {
                Err(CreateEntryError::Exists)
            }
            Err(source) => Err(CreateEntryError::Io {
                directory: self.directory.clone(),
                source,
            }),
        }
    }

    fn create_at(&self, directory: &Path, metadata: &[u8]) -> io::Result<()> {
        let new = self
            .directory
            .join(format!("{NEW_PREFIX}{}", Uuid::new_v4()));
        DirBuilder::new().mode(0o750).create(&new)?;
        let made = fill_and_move(&new, directory, metadata);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&new);
        }
        made?;
        let synced = File::open(&self.directory).and_then(|spool| spool.sync_all());
        if synced.is_err() {
            let _ = std::fs::remove_dir_all(directory);
        }
        synced
    }

    /// An entry for an action whose result is not kept; yet to be [made](SpoolEntry::make), so
    /// that it can be registered as used before it exists.
    pub(crate) fn scratch(&self) -> SpoolEntry {
        SpoolEntry::scratch_at(
            self.directory
                .join(SCRATCH_DIRECTORY)
                .join(Uuid::new_v4().to_string()),
        )
    }

    /// The entry of a known transaction.
    pub(crate) fn find(&self, id: &TransactionId) -> Option<SpoolEntry> {
        let directory = self.path_of(id);
        directory.is_dir().then(|| SpoolEntry::at(directory))
    }

    /// All entries.
    pub(crate) fn entries(&self) -> io::Result<Vec<(TransactionId, SpoolEntry)>> {
        let mut entries = Vec::new();
        for file in std::fs::read_dir(&self.directory)? {
            let file = file?;
            let id = file.file_name().to_str().and_then(|name| name.parse().ok());
            if let (Some(id), true) = (id, file.file_type()?.is_dir()) {
                entries.push((id, SpoolEntry::at(file.path())));
            }
        }
        Ok(entries)
    }

    /// Directories of actions whose result is not kept.
    pub(crate) fn scratch_entries(&self) -> io::Result<Vec<SpoolEntry>> {
        std::fs::read_dir(self.directory.join(SCRATCH_DIRECTORY))?
            .map(|file| Ok(SpoolEntry::scratch_at(file?.path())))
            .collect()
    }

    fn path_of(&self, id: &TransactionId) -> PathBuf {
        self.directory.join(id.as_str())
    }

    /// Removes leftovers of a crash in the middle of [`Spool::create`], of [`Spool::id`] or of a
    /// purge.
    fn remove_leftovers(&self) -> io::Result<()> {
        for file in std::fs::read_dir(&self.directory)? {
            let file = file?;
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(NEW_PREFIX) || name.starts_with(PURGE_PREFIX) {
                std::fs::remove_dir_all(file.path())?;
            } else if name.starts_with(durable::TEMPORARY_PREFIX) {
                std::fs::remove_file(file.path())?;
            }
        }
        Ok(())
    }
}

/// Writes the record to disk before the entry gets its name: a power cut leaves the entry whole or
/// not at all.
fn fill_and_move(new: &Path, directory: &Path, metadata: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(new.join(METADATA_FILE))?;
    file.write_all(metadata)?;
    file.sync_all()?;
    File::open(new)?.sync_all()?;
    renameat_with(CWD, new, CWD, directory, RenameFlags::NOREPLACE)?;
    Ok(())
}

fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(directory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::record::tests::record;
    use super::*;

    fn spool() -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(&dir.path().join("spool")).unwrap();
        (dir, spool)
    }

    #[test]
    fn a_transaction_is_new_once() {
        let (_dir, spool) = spool();
        let entry = spool.create(&record("t1")).unwrap();
        assert_eq!(entry.record().unwrap().transaction_id.as_str(), "t1");
        assert!(matches!(
            spool.create(&record("t1")),
            Err(CreateEntryError::Exists)
        ));
        assert_eq!(spool.find(&"t1".parse().unwrap()), Some(entry));
        assert_eq!(spool.find(&"t2".parse().unwrap()), None);
        let names: Vec<_> = spool
            .entries()
            .unwrap()
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        assert_eq!(names, ["t1".parse().unwrap()]);
    }

    #[test]
    fn modes_leave_nothing_to_others() {
        let (_dir, spool) = spool();
        let entry = spool.create(&record("t1")).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(entry.path()) & !0o750, 0);
        assert_eq!(mode(&entry.path().join(METADATA_FILE)) & !0o640, 0);
    }

    #[test]
    fn the_spool_keeps_its_id_and_loses_leftovers() {
        let (dir, spool) = spool();
        let entry = dir.path().join("spool/.new-x");
        std::fs::create_dir(&entry).unwrap();
        let of_the_id = dir.path().join("spool/.tmp-x");
        std::fs::write(&of_the_id, "").unwrap();
        let again = Spool::open(&dir.path().join("spool")).unwrap();
        assert_eq!(again.id().unwrap(), spool.id().unwrap());
        assert!(!entry.exists() && !of_the_id.exists());
    }

    #[test]
    fn an_id_that_is_gone_or_broken_vouches_for_nothing_and_is_replaced() {
        let (dir, spool) = spool();
        let file = dir.path().join("spool").join(ID_FILE);
        let first = spool.id().unwrap();
        assert_eq!(spool.verified_id(), Some(first));
        std::fs::write(&file, "broken").unwrap();
        assert_eq!(spool.verified_id(), None);
        let second = spool.id().unwrap();
        assert_ne!(second, first);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(spool.verified_id(), None);
        assert!(![first, second].contains(&spool.id().unwrap()));
    }

    #[test]
    fn the_file_of_the_id_can_be_no_transaction_and_is_not_hidden() {
        assert!(ID_FILE.parse::<TransactionId>().is_err());
        assert!(!ID_FILE.starts_with('.'));
    }

    #[test]
    fn a_half_written_entry_is_found_and_has_no_record() {
        let (dir, spool) = spool();
        std::fs::create_dir(dir.path().join("spool/t9")).unwrap();
        std::fs::write(dir.path().join("spool/t9/metadata"), "{\"requester\":").unwrap();
        let entry = spool.find(&"t9".parse().unwrap()).unwrap();
        assert!(entry.record().is_err());
    }

    #[test]
    fn a_spool_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Spool::open(file.path()).unwrap_err().to_string();
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
    }
}
