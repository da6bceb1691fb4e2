//! Removal of a task's secrets from its spool entry: [`SpoolEntry::scrub`].
//!
//! Invariants: the value of a task's `_sensitive` key stays on disk until the orchestrator has
//! acknowledged it, and no longer; the file keeps its length, and other content stays readable.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use pxp::task::{SENSITIVE_KEY, SensitiveScan};
use rustix::fs::{FallocateFlags, fallocate};
use serde_json::{Map, Value};

use super::{STDOUT_FILE, SpoolEntry};
use crate::defaults::SCRUB_PARSED_BYTES;

/// Number of bytes that are read or written at once.
const PIECE: usize = 64 << 10;

impl SpoolEntry {
    /// Removes the value of `_sensitive` from standard output. `Ok(false)`: there was none.
    pub(crate) fn scrub(&self) -> io::Result<bool> {
        let path = self.path().join(STDOUT_FILE);
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let Some(secret_from) = find(&file)? else {
            return Ok(false);
        };
        let length = file.metadata()?.len();
        match redact_output(&file, length)? {
            Some(shown) => file.write_all_at(&shown, 0)?,
            None => erase(&file, secret_from, length)?,
        }
        file.sync_data()?;
        Ok(true)
    }
}

/// Offset in bytes of the first secret of a file; `None` if it has none.
fn find(file: &File) -> io::Result<Option<u64>> {
    let mut scan = SensitiveScan::default();
    let (mut piece, mut offset) = (vec![0; PIECE], 0);
    loop {
        let read = match file.read_at(&mut piece, offset) {
            Ok(0) => return Ok(None),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let shown = scan.scan(piece.get(..read).unwrap_or_default());
        if scan.is_found() {
            return Ok(Some(offset + shown as u64));
        }
        offset += read as u64;
    }
}

/// The result without its secret, with unchanged length; `None`: it is not a readable result.
fn redact_output(file: &File, length: u64) -> io::Result<Option<Vec<u8>>> {
    if length > SCRUB_PARSED_BYTES {
        return Ok(None);
    }
    let mut output = Vec::new();
    let mut whole = file;
    whole.read_to_end(&mut output)?;
    let Ok(mut result) = serde_json::from_slice::<Map<String, Value>>(&output) else {
        return Ok(None);
    };
    if result.remove(SENSITIVE_KEY).is_none() {
        return Ok(None);
    }
    let mut shown = Value::Object(result).to_string().into_bytes();
    if shown.len() > output.len() || SensitiveScan::shown_length(&shown).is_some() {
        return Ok(None);
    }
    shown.resize(output.len(), b' ');
    Ok(Some(shown))
}

/// Overwrites the rest of a file with zeros; as a hole if the file system supports it, since the
/// file may be long.
fn erase(file: &File, from: u64, length: u64) -> io::Result<()> {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if fallocate(file, hole, from, length.saturating_sub(from)).is_ok() {
        return Ok(());
    }
    let (zeros, mut at) = (vec![0; PIECE], from);
    while at < length {
        let left = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
        file.write_all_at(zeros.get(..left).unwrap_or_default(), at)?;
        at += left as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Spool;
    use super::*;

    fn scrubbed(output: &str) -> (bool, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let entry = Spool::open(dir.path()).unwrap().scratch();
        entry.make().unwrap();
        entry.write_output(STDOUT_FILE, output).unwrap();
        let changed = entry.scrub().unwrap();
        (
            changed,
            std::fs::read(entry.path().join(STDOUT_FILE)).unwrap(),
        )
    }

    #[test]
    fn a_result_keeps_all_but_its_secret() {
        let output = r#"{"user": "x", "_sensitive": {"pw": "hunter2"}, "n": 1}"#;
        let (changed, left) = scrubbed(output);
        assert!(changed);
        assert_eq!(left.len(), output.len());
        let left: Value = serde_json::from_slice(&left).unwrap();
        assert_eq!(left, serde_json::json!({"user": "x", "n": 1}));
    }

    #[test]
    fn output_that_is_no_result_loses_what_follows_the_key() {
        for output in [
            r#"first {"_sensitive": "hunter2"}"#,
            r#"{"a": {"_sensitive": "hunter2"}}"#,
            r#"{"_sensitive": "hunter2""#,
        ] {
            let (changed, left) = scrubbed(output);
            assert!(changed);
            assert_eq!(left.len(), output.len());
            let left = String::from_utf8(left).unwrap();
            assert!(!left.contains("hunter2"), "{left}");
            assert!(left.contains("_sensitive"), "{left}");
        }
    }

    #[test]
    fn other_output_stays_as_it_is() {
        let (changed, left) = scrubbed("{\"pw\": \"hunter2\"}");
        assert!(!changed);
        assert_eq!(left, b"{\"pw\": \"hunter2\"}");
    }
}
