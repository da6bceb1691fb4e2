//! The name of a node: the common name of its certificate.
//!
//! [`Certname`] is a closed type: its text can be a component of a path and of a PCP address
//! unchanged, on every platform. Invariant: a node's name reaches the file system only as this
//! type.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::defaults::MAX_CERTNAME_BYTES;

/// A checked certname. Cheap to clone; compared byte by byte, as Puppet does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Certname(Arc<str>);

/// The error for a text that is not a certname. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertnameError {
    /// The text has no characters at all.
    #[error("a certname cannot be empty")]
    Empty,
    /// The text is longer than [`MAX_CERTNAME_BYTES`].
    #[error("a certname of {0} bytes is too long; the limit is {MAX_CERTNAME_BYTES}")]
    TooLong(usize),
    /// The text has a character that is not allowed.
    #[error("a certname cannot contain {character:?} (at byte {offset})")]
    Character {
        /// The character that is not allowed.
        character: char,
        /// Byte offset of the character.
        offset: usize,
    },
    /// `.`, `..` or `*`, which have a special meaning in a path or an address.
    #[error("a certname cannot be {0:?}, which has a meaning of its own in paths or addresses")]
    Reserved(&'static str),
}

impl Certname {
    /// The certname as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Certname {
    type Err = CertnameError;

    fn from_str(text: &str) -> Result<Self, CertnameError> {
        if text.is_empty() {
            return Err(CertnameError::Empty);
        }
        if text.len() > MAX_CERTNAME_BYTES {
            return Err(CertnameError::TooLong(text.len()));
        }
        if let Some(reserved) = [".", "..", "*"].into_iter().find(|name| *name == text) {
            return Err(CertnameError::Reserved(reserved));
        }
        match text
            .char_indices()
            .find(|(_, c)| matches!(c, '/' | '\\') || c.is_control())
        {
            Some((offset, character)) => Err(CertnameError::Character { character, offset }),
            None => Ok(Self(text.into())),
        }
    }
}

impl TryFrom<&str> for Certname {
    type Error = CertnameError;

    fn try_from(text: &str) -> Result<Self, CertnameError> {
        text.parse()
    }
}

impl AsRef<str> for Certname {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Certname {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Certname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Certname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certname({})", self.0)
    }
}

impl Serialize for Certname {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Certname {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
