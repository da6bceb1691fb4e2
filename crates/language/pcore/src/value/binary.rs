//! Bytes as a value. Main type: [`Binary`].
//!
//! Invariant: the text of a binary is strict base64.

use std::fmt;
use std::sync::Arc;

use crate::text::base64;

/// Immutable bytes: the language's `Binary`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Binary {
    bytes: Arc<[u8]>,
}

impl Binary {
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            bytes: bytes.into(),
        }
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Decodes strict base64; `None` if it is invalid.
    #[must_use]
    pub fn from_base64(text: &str) -> Option<Self> {
        base64::decode_strict(text).map(Self::new)
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64::encode(&self.bytes, base64::STANDARD))
    }
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Binary({} bytes)", self.bytes.len())
    }
}
