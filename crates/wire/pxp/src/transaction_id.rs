//! The id of one run of one action on one node.
//!
//! [`TransactionId`] is a closed type because agents name a directory after it. Invariant: 1 to 128
//! of `A-Z a-z 0-9 _ - .`, not beginning with a dot.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::defaults::MAX_TRANSACTION_ID_BYTES;

/// A checked transaction id. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(Arc<str>);

/// The error for a text that is not a transaction id. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a transaction id is 1 to {MAX_TRANSACTION_ID_BYTES} letters, digits, '_', '-' or '.', and \
     does not begin with '.'"
)]
pub struct TransactionIdError;

impl TransactionId {
    /// A new id: a random UUID, so that an agent that outlives a server's database never receives
    /// an old id again.
    pub fn random() -> Self {
        Self(Uuid::new_v4().to_string().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TransactionId {
    type Err = TransactionIdError;

    fn from_str(text: &str) -> Result<Self, TransactionIdError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let fits = (1..=MAX_TRANSACTION_ID_BYTES).contains(&text.len());
        if fits && !text.starts_with('.') && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(TransactionIdError)
        }
    }
}

impl AsRef<str> for TransactionId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for TransactionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransactionId({})", self.0)
    }
}

impl Serialize for TransactionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TransactionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
