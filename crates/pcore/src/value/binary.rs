//! Bytes as a value. Main type: [`Binary`].

use std::fmt;
use std::sync::Arc;

/// Bytes.
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
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Binary({} bytes)", self.bytes.len())
    }
}
