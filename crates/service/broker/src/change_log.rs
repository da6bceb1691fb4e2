//! Numbered log of the latest connects and disconnects: [`ChangeLog`].
//!
//! Invariant: the log is bounded; a reader whose cursor was dropped gets an error and never misses
//! an entry silently.

use std::collections::VecDeque;

use pcp::PcpUri;
use pcp::types::InventoryDirection;

use crate::defaults::INVENTORY_LOG;

#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    entries: VecDeque<(PcpUri, InventoryDirection)>,
    /// Number of the first entry.
    start: u64,
}

/// Error: the entries at the reader's cursor are no longer in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CursorExpired;

impl ChangeLog {
    pub(crate) fn push(&mut self, uri: PcpUri, change: InventoryDirection) {
        if self.entries.len() >= INVENTORY_LOG {
            self.entries.pop_front();
            self.start += 1;
        }
        self.entries.push_back((uri, change));
    }

    /// The cursor of the next entry.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.entries.len() as u64
    }

    /// Entries from `cursor` on.
    pub(crate) fn entries_since(
        &self,
        cursor: u64,
    ) -> Result<impl Iterator<Item = &(PcpUri, InventoryDirection)>, CursorExpired> {
        let skip = cursor.checked_sub(self.start).ok_or(CursorExpired)?;
        Ok(self
            .entries
            .iter()
            .skip(usize::try_from(skip).unwrap_or(usize::MAX)))
    }

    /// Drops the entries before `cursor`; `None` means that there is no reader.
    pub(crate) fn forget_before(&mut self, cursor: Option<u64>) {
        let keep_from = cursor.unwrap_or_else(|| self.end()).max(self.start);
        let drop = usize::try_from(keep_from - self.start).unwrap_or(usize::MAX);
        self.entries.drain(..drop.min(self.entries.len()));
        self.start = keep_from;
        if self.entries.is_empty() {
            self.entries = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(i: usize) -> PcpUri {
        format!("pcp://n{i}/agent").parse().expect("an address")
    }

    #[test]
    fn readers_see_what_came_after_their_place() {
        let mut log = ChangeLog::default();
        log.push(uri(0), InventoryDirection::Connected);
        let cursor = log.end();
        log.push(uri(1), InventoryDirection::Connected);
        log.push(uri(1), InventoryDirection::Disconnected);
        assert_eq!(log.entries_since(cursor).expect("in the log").count(), 2);
        log.forget_before(Some(cursor));
        assert_eq!(
            log.entries_since(cursor).expect("still in the log").count(),
            2
        );
        assert!(log.entries_since(0).is_err());
        log.forget_before(None);
        assert_eq!(log.entries_since(log.end()).expect("at the end").count(), 0);
        assert_eq!(log.end(), 3);
    }

    #[test]
    fn the_log_is_bounded() {
        let mut log = ChangeLog::default();
        for i in 0..=INVENTORY_LOG {
            log.push(uri(i), InventoryDirection::Connected);
        }
        assert!(log.entries_since(0).is_err());
        assert_eq!(
            log.entries_since(1).expect("in the log").count(),
            INVENTORY_LOG
        );
    }
}
