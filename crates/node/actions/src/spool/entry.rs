//! One directory of the spool: [`SpoolEntry`].
//!
//! All functions block on the disk; callers on the runtime use `spawn_blocking`. Invariant: reads
//! tolerate entries that a crash left half written, and report that instead of guessing.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt as _};
use std::path::{Path, PathBuf};

use pki::durable::{self, DurableWriteError};

use super::claim::ActionClaimError;
use super::{ActionClaim, ClockReading, EntryDurability, TransactionRecord};
use crate::defaults::MAX_RECORD_BYTES;
use crate::process::{ExitRecord, OutputLimit};

pub(crate) const STDOUT_FILE: &str = "stdout";
pub(crate) const STDERR_FILE: &str = "stderr";
pub(super) const METADATA_FILE: &str = "metadata";

/// The directory of one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpoolEntry {
    directory: PathBuf,
    durability: EntryDurability,
}

impl SpoolEntry {
    pub(super) fn at(directory: PathBuf) -> Self {
        Self {
            directory,
            durability: EntryDurability::Kept,
        }
    }

    /// The entry of an action whose result is not kept.
    pub(super) fn scratch_at(directory: PathBuf) -> Self {
        Self {
            directory,
            durability: EntryDurability::Scratch,
        }
    }

    pub(crate) fn durability(&self) -> EntryDurability {
        self.durability
    }

    /// Creates the directory of a scratch entry.
    pub(crate) fn make(&self) -> io::Result<()> {
        DirBuilder::new().mode(0o750).create(&self.directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// Reads the record; an error if it is missing or truncated.
    pub(crate) fn record(&self) -> io::Result<TransactionRecord> {
        let mut bytes = Vec::new();
        File::open(self.directory.join(METADATA_FILE))?
            .take(MAX_RECORD_BYTES)
            .read_to_end(&mut bytes)?;
        Ok(decode_errors::json::from_slice(&bytes)?)
    }

    /// Replaces the record. After a power cut the record is either the previous one or this one,
    /// and whole: its content is flushed before it gets its name. The name is not flushed. The end
    /// of the action is in its exit record; this record adds the number of sends and the
    /// acknowledgement, so after a power cut an outcome may be sent once more.
    pub(crate) fn write_record(&self, record: &TransactionRecord) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".record-")
            .permissions(Permissions::from_mode(0o640))
            .tempfile_in(&self.directory)?;
        file.write_all(&record.to_bytes())?;
        file.as_file().sync_data()?;
        let replaced = file.persist(self.directory.join(METADATA_FILE));
        replaced.map(drop).map_err(|error| error.error)
    }

    /// Takes the claim on the action of this entry.
    pub(crate) fn take_claim(&self, claim: &ActionClaim) -> Result<(), ActionClaimError> {
        claim.take(&self.directory, self.durability)
    }

    pub(crate) fn claim(&self) -> io::Result<Option<ActionClaim>> {
        ActionClaim::read(&self.directory)
    }

    /// The end of the action; `None` while it is not recorded.
    pub(crate) fn exit(&self) -> io::Result<Option<ExitRecord>> {
        ExitRecord::read(&self.directory)
    }

    /// The end of an action of pxp-agent, whose only record is `exitcode`.
    pub(crate) fn foreign_exit(&self) -> io::Result<Option<ExitRecord>> {
        let text = match std::fs::read_to_string(self.directory.join("exitcode")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let exitcode = text.trim().parse().map_err(io::Error::other)?;
        let size = |name| std::fs::metadata(self.directory.join(name)).map_or(0, |file| file.len());
        let mut record = ExitRecord::not_run(exitcode, None);
        record.stdout_bytes = size(STDOUT_FILE);
        record.stderr_bytes = size(STDERR_FILE);
        Ok(Some(record))
    }

    /// Records an end that no wrapper records: of an action of the agent itself, or of one that was
    /// not started.
    pub(crate) fn write_exit(&self, record: &ExitRecord) -> Result<(), DurableWriteError> {
        let bytes = serde_json::to_vec(record).expect("a record holds only strings and numbers");
        let path = self.directory.join(ExitRecord::FILE);
        if self.durability.is_kept() {
            return durable::write_atomic(&path, &bytes, 0o640);
        }
        // Only the agent itself reads it, in the same step.
        std::fs::write(&path, &bytes).map_err(|source| DurableWriteError { path, source })
    }

    /// Writes a text as an output stream, for an action that had no process; on disk before the
    /// record that counts it.
    pub(crate) fn write_output(&self, stream: &str, text: &str) -> io::Result<()> {
        let mut file = File::create(self.directory.join(stream))?;
        file.write_all(text.as_bytes())?;
        if self.durability.is_kept() {
            file.sync_data()?;
        }
        Ok(())
    }

    /// Flushes the files that a wrapper wrote to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::open(self.directory.join(ExitRecord::FILE))?.sync_data()?;
        File::open(&self.directory)?.sync_all()
    }

    /// Reads up to `limit` bytes of a stream from `offset`. Empty if the file does not exist yet,
    /// and beyond the limit from which output is dropped.
    pub(crate) fn output(&self, stream: &str, offset: u64, limit: u64) -> io::Result<Vec<u8>> {
        let mut file = match File::open(self.directory.join(stream)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let limit = limit.min(OutputLimit::of(&self.directory).saturating_sub(offset));
        file.seek(io::SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// True if its files were last created or renamed since the machine was started.
    pub(crate) fn is_of_this_boot(&self, now: &ClockReading) -> bool {
        let changed = std::fs::metadata(&self.directory).and_then(|meta| meta.modified());
        let booted = now.wall.checked_sub(now.since_boot);
        matches!((changed, booted), (Ok(changed), Some(booted)) if changed >= booted)
    }

    /// Removes the directory.
    pub(crate) fn remove(&self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.directory)
    }
}
