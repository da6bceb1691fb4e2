//! [`GroupId`]: the id of a node group.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use uuid::Uuid;

/// The id of a group: a UUID in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GroupId(Uuid);

/// The error that a text is not a group id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a group's id is a UUID such as 00000000-0000-4000-8000-000000000000, in small letters")]
pub struct InvalidGroupId;

impl GroupId {
    /// The group "All Nodes", from which all others descend.
    pub const ROOT: Self = Self(Uuid::from_u128(0x0000_0000_0000_4000_8000_0000_0000_0000));

    /// A new random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    pub(crate) const fn from_u128(id: u128) -> Self {
        Self(Uuid::from_u128(id))
    }
}

impl FromStr for GroupId {
    type Err = InvalidGroupId;

    fn from_str(text: &str) -> Result<Self, InvalidGroupId> {
        // The parser alone would also accept braces, missing hyphens, and upper case.
        let plain = text.len() == 36 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if !plain {
            return Err(InvalidGroupId);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| InvalidGroupId)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.hyphenated(), f)
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_in_small_letters_with_hyphens() {
        let root = "00000000-0000-4000-8000-000000000000";
        assert_eq!(root.parse(), Ok(GroupId::ROOT));
        assert_eq!(GroupId::ROOT.to_string(), root);
        for bad in [
            "",
            "x",
            "../../../../etc/passwd",
            "00000000000040008000000000000000",
            "{00000000-0000-4000-8000-000000000000}",
            "FC500C43-5065-469B-91FC-37ED0E500E81",
            "0000000\u{0}-0000-4000-8000-000000000000",
        ] {
            assert_eq!(bad.parse::<GroupId>(), Err(InvalidGroupId), "{bad:?}");
        }
    }
}
