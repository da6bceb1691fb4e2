//! The code version that a catalog was compiled from: [`CodeId`].
//!
//! Invariant: the text is read from a node's disk, and is one line of the characters that
//! puppetserver accepts from its `code-id-command`; the author of that command defines its meaning.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::defaults::MAX_CODE_ID_BYTES;

/// A checked code id. In Puppet Enterprise and Tutti it is
/// `urn:puppet:code-id:1:<40 hexadecimal digits>;<environment>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeId(String);

/// The error for a text that is not a code id. The text is not quoted: it may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code id is 1 to {MAX_CODE_ID_BYTES} letters, digits, '_', '-', ':' or ';'")]
pub struct CodeIdError;

// === impl CodeId ===

impl CodeId {
    /// The code id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CodeId {
    type Err = CodeIdError;

    fn from_str(text: &str) -> Result<Self, CodeIdError> {
        let allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b';');
        let fits = (1..=MAX_CODE_ID_BYTES).contains(&text.len());
        if fits && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(CodeIdError)
        }
    }
}

impl fmt::Display for CodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for CodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for CodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_characters_of_a_code_id_are_one() {
        let of_enterprise = format!("urn:puppet:code-id:1:{};production", "0123456789".repeat(4));
        let long = "x".repeat(MAX_CODE_ID_BYTES);
        for good in [&of_enterprise, "1a2b3c4d", "v1-2_3", &long] {
            let id: CodeId = good.parse().unwrap();
            assert_eq!(id.as_str(), good);
        }
        let too_long = format!("{long}x");
        for bad in [
            "",
            " ",
            "a b",
            "a\n",
            "a\0",
            "../../etc",
            "a.b",
            "a/b",
            "\u{1b}[2J",
            "größe",
            &too_long,
        ] {
            assert_eq!(bad.parse::<CodeId>(), Err(CodeIdError), "{bad:?}");
        }
    }
}
