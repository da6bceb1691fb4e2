//! Survival of an entry's files across power cuts: [`EntryDurability`].
//!
//! Invariant: anything promised to a requester (a provisional response was sent, or will be) is on
//! disk before it counts; a blocking request is answered or has failed, so nothing of its entry is
//! needed after a restart, and the disk is not flushed for it.

use serde::{Deserialize, Serialize};

/// Guarantee for the files of an entry.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryDurability {
    /// Files survive a power cut: they are flushed before they are renamed into place.
    #[default]
    Kept,
    /// Files are not flushed: only processes of this boot use them.
    Scratch,
}

impl EntryDurability {
    pub(crate) fn is_kept(self) -> bool {
        self == Self::Kept
    }
}
