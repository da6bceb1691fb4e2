//! Acceptance of an older copy of the database as it is. Main type: [`AcceptedHistory`].

use crate::StoreError;
use crate::history_mark::OlderHistory;
use crate::store::Store;
use crate::write::{StoreWrite, WriteResult};
use crate::writing::history::{COUNTED, HistoryAcceptance};

/// Result of accepting an older history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedHistory {
    /// Number of waiting runs that are now treated as sent; their agents are queried.
    pub runs: u64,
    /// Number of plans that were ended.
    pub plans: u64,
    /// Number of claimed slots of schedules that were given up.
    pub slots: u64,
    /// Number of schedules that were due since; they continue with their next slot.
    pub schedules: u64,
}

// === impl Store ===

impl Store {
    /// The older history that this store was opened with, if that was allowed.
    pub fn older_history(&self) -> Option<&OlderHistory> {
        self.older.as_deref()
    }

    /// Accepts an older history as the current one. `None`: the history is not an older one.
    pub async fn accept_older_history(
        &self,
        at_ms: i64,
    ) -> Result<Option<AcceptedHistory>, StoreError> {
        let Some(older) = self.older_history() else {
            return Ok(None);
        };
        let acceptance = HistoryAcceptance {
            last_known: older.last_known.clone(),
            at_ms,
        };
        let write = StoreWrite::AcceptHistory(Box::new(acceptance));
        let WriteResult::Rows(rows) = self.write(write).await? else {
            unreachable!("it is answered with counts");
        };
        let [runs, plans, slots, schedules] =
            COUNTED.map(|step| rows.get(step).copied().unwrap_or_default());
        Ok(Some(AcceptedHistory {
            runs,
            plans,
            slots,
            schedules,
        }))
    }
}
