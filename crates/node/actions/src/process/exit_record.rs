//! The end of an action, [`ExitRecord`], as the wrapper leaves it in the spool.
//!
//! Invariants: the record appears whole or not at all, also after a power loss, and after the
//! output that it counts; its disk space is reserved before the action starts, so that an action
//! which fills the disk is still recorded.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::OutputLoss;
use crate::defaults::{EXIT_MESSAGE_BYTES, EXIT_RECORD_BYTES};
use crate::spool::EntryDurability;

/// Record of the end of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExitRecord {
    /// 0..=255, or 128 + N after signal N.
    pub(crate) exitcode: i32,
    pub(crate) signal: Option<i32>,
    pub(crate) cancelled: bool,
    pub(crate) timed_out: bool,
    /// Number of bytes of output that count; output that lingering processes write later does not.
    pub(crate) stdout_bytes: u64,
    pub(crate) stderr_bytes: u64,
    /// Number of processes that could not be ended by a cancel or a timeout.
    pub(crate) survivors: usize,
    /// Time of the end in milliseconds since the epoch.
    pub(crate) ended_ms: i64,
    /// Reason for which the action could not be executed at all; in that case nothing of it ran.
    pub(crate) error: Option<String>,
    /// Reason for which output may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<OutputLoss>,
}

impl ExitRecord {
    /// Name of the record in a spool entry.
    pub(crate) const FILE: &'static str = "exit.json";

    /// The record of an action that ended before anything of it ran.
    pub(crate) fn not_run(exitcode: i32, error: Option<String>) -> Self {
        Self {
            exitcode,
            signal: None,
            cancelled: false,
            timed_out: false,
            stdout_bytes: 0,
            stderr_bytes: 0,
            survivors: 0,
            ended_ms: jiff::Timestamp::now().as_millisecond(),
            error,
            loss: None,
        }
    }

    /// Reads the record of an entry; `None` if there is none yet.
    pub(crate) fn read(entry: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(entry.join(Self::FILE)) {
            Ok(bytes) => Ok(Some(decode_errors::json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut record = self.clone();
        if let Some(error) = &mut record.error {
            error.truncate(error.floor_char_boundary(EXIT_MESSAGE_BYTES));
        }
        serde_json::to_vec(&record).expect("a record holds only strings and numbers")
    }
}

/// Disk space reserved for a future record.
#[derive(Debug)]
pub(crate) struct RecordReservation {
    file: File,
    temporary: PathBuf,
    entry: PathBuf,
}

impl RecordReservation {
    /// Reserves the space. Blanks behind a JSON value are allowed, so the record may be shorter
    /// than its reservation.
    pub(crate) fn reserve(entry: &Path) -> io::Result<Self> {
        let temporary = entry.join(".exit.json");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o640)
            .open(&temporary)?;
        file.write_all(&[b' '; EXIT_RECORD_BYTES])?;
        Ok(Self {
            file,
            temporary,
            entry: entry.to_owned(),
        })
    }

    /// Puts the whole record in place. Its name is on disk after [`SettledRecord::sync`], and
    /// visible to other processes at once.
    pub(crate) fn persist(
        mut self,
        record: &ExitRecord,
        durability: EntryDurability,
    ) -> io::Result<SettledRecord> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&record.to_bytes())?;
        if durability.is_kept() {
            // If the disk fails here, the record may still be readable until the next boot.
            let _ = self.file.sync_data();
        }
        std::fs::rename(&self.temporary, self.entry.join(ExitRecord::FILE))?;
        // For tools that look for pxp-agent's file; the record is authoritative.
        let _ = write_exitcode(&self.entry, record.exitcode);
        Ok(SettledRecord { entry: self.entry })
    }
}

/// A record that is in place, under a name that may not be on disk yet.
#[derive(Debug)]
pub(crate) struct SettledRecord {
    entry: PathBuf,
}

impl SettledRecord {
    pub(crate) fn sync(self) -> io::Result<()> {
        File::open(&self.entry)?.sync_all()
    }
}

fn write_exitcode(entry: &Path, exitcode: i32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o640)
        .open(entry.join("exitcode"))?;
    file.write_all(exitcode.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_record_fits_its_room() {
        let record = ExitRecord {
            exitcode: i32::MIN,
            signal: Some(i32::MIN),
            cancelled: false,
            timed_out: false,
            stdout_bytes: u64::MAX,
            stderr_bytes: u64::MAX,
            survivors: usize::MAX,
            ended_ms: i64::MIN,
            // A control character becomes six bytes in JSON.
            error: Some("\u{1}".repeat(EXIT_MESSAGE_BYTES * 2)),
            loss: OutputLoss::of(&rustix::io::Errno::NOSPC.into()),
        };
        let size = record.to_bytes().len();
        assert!(size <= EXIT_RECORD_BYTES, "{size}");
    }

    #[test]
    fn a_settled_record_is_read_back() {
        let entry = tempfile::tempdir().unwrap();
        assert_eq!(ExitRecord::read(entry.path()).unwrap(), None);
        let reservation = RecordReservation::reserve(entry.path()).unwrap();
        assert_eq!(
            ExitRecord::read(entry.path()).unwrap(),
            None,
            "a reservation is no record"
        );
        let record = ExitRecord::not_run(127, Some("é".repeat(EXIT_MESSAGE_BYTES)));
        let settled = reservation.persist(&record, EntryDurability::Kept).unwrap();
        settled.sync().unwrap();
        let read = ExitRecord::read(entry.path()).unwrap().unwrap();
        assert_eq!(read.exitcode, 127);
        assert_eq!(read.error.unwrap().len(), EXIT_MESSAGE_BYTES);
        assert_eq!(
            std::fs::read_to_string(entry.path().join("exitcode")).unwrap(),
            "127"
        );
    }
}
