//! The id of a message: the text of a UUID.
//!
//! [`MessageId`] keeps the text as it was sent, upper or lower case, because a peer compares its
//! own id in a reply byte by byte. Invariant: 36 ASCII bytes, stored inline; copies are cheap.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

const TEXT_BYTES: usize = 36;

/// A message's id, as sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId([u8; TEXT_BYTES]);

/// The error for a text that is not a UUID of the form `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID")]
pub struct MessageIdError;

impl MessageId {
    /// A new random id.
    pub fn random() -> Self {
        Self::from(Uuid::new_v4())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII is ever stored")
    }
}

impl From<Uuid> for MessageId {
    fn from(uuid: Uuid) -> Self {
        let mut text = [0; TEXT_BYTES];
        uuid.hyphenated().encode_lower(&mut text);
        Self(text)
    }
}

impl FromStr for MessageId {
    type Err = MessageIdError;

    fn from_str(text: &str) -> Result<Self, MessageIdError> {
        let bytes: [u8; TEXT_BYTES] = text.as_bytes().try_into().map_err(|_| MessageIdError)?;
        let well_formed = bytes.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        if well_formed {
            Ok(Self(bytes))
        } else {
            Err(MessageIdError)
        }
    }
}

impl AsRef<str> for MessageId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageId({})", self.as_str())
    }
}

impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
