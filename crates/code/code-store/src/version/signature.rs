//! [`VersionSignature`]: the id of a version of an environment.
//!
//! Invariant: it can be a part of a directory's name and of a code id.

use std::fmt;
use std::str::FromStr;

/// The signature of a version: 40 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionSignature(Box<str>);

/// The text is not a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a version's signature has 40 hexadecimal digits")]
pub struct SignatureError;

const DIGITS: usize = 40;

impl VersionSignature {
    /// Computes the signature of a text that describes the parts of a version.
    pub fn of(text: &[u8]) -> Self {
        let mut digits = crate::content::ContentHash::of(text).to_string();
        digits.truncate(DIGITS);
        Self(digits.into())
    }

    /// The 40 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VersionSignature {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == DIGITS && text.bytes().all(is_digit) {
            true => Ok(Self(text.into())),
            false => Err(SignatureError),
        }
    }
}

impl fmt::Display for VersionSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for VersionSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({})", self.0)
    }
}
