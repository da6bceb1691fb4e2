//! The head of the chain in a second place: a file beside the database. Main type: [`ChainHead`].
//!
//! Invariant: an attacker who can change the database but not this file cannot remove entries from
//! the end, or rewrite the chain, without detection.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use store::AuditPosition;

use crate::HeadFileError;
use crate::defaults::KEPT_HEADS;

/// Part of the file name of a contradicted head: `audit-head.contradicted-<milliseconds>`.
pub(crate) const CONTRADICTED: &str = "contradicted";

/// The number and the hash of the last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of the entry; 0 if there is none yet.
    pub seq: i64,
    /// SHA-256 hash of the entry.
    pub hash: [u8; 32],
}

/// A hash as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HexHash(pub [u8; 32]);

/// The error that a text is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash: expected 64 hexadecimal digits")]
pub struct InvalidHash;

#[derive(Serialize, Deserialize)]
struct HeadFileContent {
    seq: i64,
    hash: String,
    at: jiff::Timestamp,
}

impl ChainHead {
    /// Reads the file; `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, HeadFileError> {
        let content = |what: String| HeadFileError::Content {
            path: path.to_owned(),
            what,
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let path = path.to_owned();
                return Err(HeadFileError::Io { path, source });
            }
        };
        let file: HeadFileContent =
            decode_errors::json::from_str(&text).map_err(|error| content(error.to_string()))?;
        let HexHash(hash) = file
            .hash
            .parse()
            .map_err(|error: InvalidHash| content(error.to_string()))?;
        Ok(Some(Self {
            seq: file.seq,
            hash,
        }))
    }

    /// Writes the file atomically and durably. Blocks on the disk.
    pub(crate) fn write(self, path: &Path) -> Result<(), HeadFileError> {
        let file = HeadFileContent {
            seq: self.seq,
            hash: HexHash(self.hash).to_string(),
            at: jiff::Timestamp::now(),
        };
        let text = serde_json::json!(file).to_string() + "\n";
        Ok(pki::durable::write_atomic(path, text.as_bytes(), 0o600)?)
    }
}

/// The heads in the files beside the database: the current one, and those that the chain
/// contradicted, until an administrator removes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadFileHeads {
    /// Head in the file itself; `None` if the file does not exist.
    pub head: Option<ChainHead>,
    /// Contradicted heads, from the files that were renamed.
    pub contradicted: Vec<ChainHead>,
}

impl HeadFileHeads {
    /// Reads the file and the contradicted heads; of the latter, files without a valid head are
    /// skipped.
    pub fn read(path: &Path) -> Result<Self, HeadFileError> {
        let head = ChainHead::read(path)?;
        let io = |source| HeadFileError::Io {
            path: path.to_owned(),
            source,
        };
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Self {
                head,
                contradicted: Vec::new(),
            });
        };
        let aside = format!("{}.{CONTRADICTED}-", name.to_string_lossy());
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(io(error)),
        };
        let mut contradicted = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io)?;
            if entry.file_name().to_string_lossy().starts_with(&aside) {
                contradicted.extend(ChainHead::read(&entry.path()).ok().flatten());
            }
        }
        contradicted.sort_by_key(|head| head.seq);
        contradicted.truncate(KEPT_HEADS);
        Ok(Self { head, contradicted })
    }

    /// The current head and the contradicted ones.
    pub fn all(&self) -> impl Iterator<Item = ChainHead> + '_ {
        self.head
            .into_iter()
            .chain(self.contradicted.iter().copied())
    }
}

impl From<AuditPosition> for ChainHead {
    fn from(mark: AuditPosition) -> Self {
        Self {
            seq: mark.seq,
            hash: mark.hash,
        }
    }
}

/// Formats the head as `SEQ:HASH`, as in reports.
impl fmt::Display for ChainHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, HexHash(self.hash))
    }
}

impl fmt::Display for HexHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for HexHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let mut hash = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidHash);
        }
        for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| InvalidHash)?;
        }
        Ok(Self(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_a_broken_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit-head");
        assert_eq!(ChainHead::read(&path).unwrap(), None);
        let head = ChainHead {
            seq: 7,
            hash: [0xab; 32],
        };
        head.write(&path).unwrap();
        assert_eq!(ChainHead::read(&path).unwrap(), Some(head));
        for broken in [
            "",
            "{",
            "{\"seq\":7,\"hash\":\"ab\",\"at\":\"2026-11-21T00:00:00Z\"}",
        ] {
            std::fs::write(&path, broken).unwrap();
            let said = ChainHead::read(&path).unwrap_err().to_string();
            assert!(said.contains("audit-head"), "{said}");
        }
    }

    #[test]
    fn only_hexadecimal_digits_are_a_hash() {
        let text = "0f".repeat(32);
        assert_eq!(text.parse(), Ok(HexHash([15; 32])));
        for bad in ["", "0", &"0g".repeat(32), &"+1".repeat(32), &"é".repeat(32)] {
            assert_eq!(bad.parse::<HexHash>(), Err(InvalidHash));
        }
    }
}
