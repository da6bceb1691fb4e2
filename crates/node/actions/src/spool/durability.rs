//! Survival of an entry's files across power cuts: [`Durability`].
//!
//! The rule: what was promised to a requester (a provisional response was sent, or will be) is on
//! disk before it counts; a blocking request is answered or it failed, so nothing of its entry is
//! needed after a restart, and no flush of the disk is paid for it.

use serde::{Deserialize, Serialize};

/// Guarantee for the files of an entry.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// Files survive a power cut: they are flushed before they are renamed into place.
    #[default]
    Kept,
    /// Files are not flushed: they are of use to processes of this boot only.
    Scratch,
}

impl Durability {
    pub(crate) fn is_kept(self) -> bool {
        self == Self::Kept
    }
}
