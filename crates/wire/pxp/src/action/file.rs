//! Files that an agent downloads: their name, hash and URI.
//!
//! [`FilePath`] and [`Sha256`] are closed types, because agents build paths from them. Invariant: a
//! file path is relative and stays below the directory it is joined to.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::defaults::MAX_FILE_PATH_BYTES;

/// A file that an agent downloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSpec {
    /// Path below the installation directory, e.g. `package/tasks/linux.sh`.
    pub filename: FilePath,
    /// SHA-256 digest of the file's content.
    pub sha256: Sha256,
    /// Location of the file on a server.
    pub uri: FileUri,
}

/// The location of a file on a server with the Puppet file API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUri {
    /// Path of the URL, e.g. `/puppet/v3/file_content/tasks/package/linux.sh`.
    pub path: String,
    /// Query parameters of the URL; values are strings.
    pub params: Map<String, Value>,
}

/// A relative path with slashes: no empty, `.` or `..` component, no backslash, colon or control
/// character, so it means the same on every platform.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Arc<str>);

/// The error for a text that is not a [`FilePath`]. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a file name is a relative path of at most {MAX_FILE_PATH_BYTES} bytes without empty, '.' or \
     '..' parts, backslashes, colons and control characters"
)]
pub struct FilePathError;

/// A SHA-256 digest. On the wire 64 hexadecimal digits: both cases are read, lower case is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// The error for a text that is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 hexadecimal digits")]
pub struct Sha256Error;

// === impl FilePath ===

impl FilePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Last component of the path.
    pub fn file_name(&self) -> &str {
        self.0
            .rsplit('/')
            .next()
            .expect("split yields at least one part")
    }
}

impl FromStr for FilePath {
    type Err = FilePathError;

    fn from_str(text: &str) -> Result<Self, FilePathError> {
        let fits = text.len() <= MAX_FILE_PATH_BYTES;
        let parts = text.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if fits && parts && !text.contains(|c: char| matches!(c, '\\' | ':') || c.is_control()) {
            Ok(Self(text.into()))
        } else {
            Err(FilePathError)
        }
    }
}

impl AsRef<str> for FilePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<std::path::Path> for FilePath {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&*self.0)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePath({})", self.0)
    }
}

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

// === impl Sha256 ===

impl Sha256 {
    /// The digest's 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Sha256 {
    fn from(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

impl FromStr for Sha256 {
    type Err = Sha256Error;

    fn from_str(text: &str) -> Result<Self, Sha256Error> {
        if text.len() != 64 {
            return Err(Sha256Error);
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

fn hex_digit(digit: u8) -> Result<u8, Sha256Error> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(Sha256Error),
    }
}
