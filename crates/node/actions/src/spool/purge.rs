//! Removal of entries that are older than their time to live. Main function: [`Spool::purge`].
//!
//! Invariants: entries of running actions are kept; all others are removed, including those that
//! cannot be read or whose end is unknown. A clock that jumps backwards makes entries look younger,
//! never older; one that jumps forwards removes no unacknowledged outcome. If an entry that may
//! still be queried is removed, the spool's id is removed first.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use pxp::TransactionId;

use super::store::PURGE_PREFIX;
use super::{ClockReading, Spool, SpoolEntry, TransactionRecord};
use crate::defaults::SPOOL_MEMORY;

impl Spool {
    /// Removes entries older than `ttl`, except those that `is_active`. Returns the number of
    /// entries removed.
    pub(crate) fn purge(
        &self,
        ttl: Duration,
        now: &ClockReading,
        is_active: impl Fn(&TransactionId) -> bool,
    ) -> std::io::Result<usize> {
        let mut removed = 0;
        for (id, entry) in self.entries()? {
            if is_active(&id) || entry.age(now.wall) <= ttl {
                continue;
            }
            match PurgeDecision::of(entry.record().ok().as_ref(), ttl, now) {
                PurgeDecision::Keep => continue,
                PurgeDecision::RemoveQueryable => self.forget_id()?,
                PurgeDecision::RemoveForgotten => {}
            }
            // One step makes the entry unknown, then comes the slow part.
            let doomed = self.directory().join(format!("{PURGE_PREFIX}{id}"));
            if std::fs::rename(entry.path(), &doomed).is_ok() {
                std::fs::remove_dir_all(&doomed)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Decision about an entry that is too old by the wall clock.
#[derive(Debug, PartialEq, Eq)]
enum PurgeDecision {
    /// The entry is kept: by the clock since boot it is younger.
    Keep,
    /// The entry is removed and may still be queried: the answer must not be that it never existed.
    RemoveQueryable,
    /// The entry is removed and is not queried any more.
    RemoveForgotten,
}

impl PurgeDecision {
    fn of(record: Option<&TransactionRecord>, ttl: Duration, now: &ClockReading) -> Self {
        let Some(record) = record else {
            return Self::RemoveQueryable;
        };
        let Some(extension) = &record.tutti else {
            // It was written by pxp-agent, which never reports a spool id.
            return Self::RemoveForgotten;
        };
        let same_boot = extension.boot_id == now.boot_id;
        let taken = extension.boot_ms.filter(|_| same_boot);
        let age = taken.map(|ms| now.since_boot.saturating_sub(Duration::from_millis(ms)));
        match (extension.delivery.acknowledged, age) {
            (false, Some(age)) if age <= ttl => Self::Keep,
            (false, _) => Self::RemoveQueryable,
            (true, Some(age)) if age < SPOOL_MEMORY => Self::RemoveQueryable,
            (true, _) => Self::RemoveForgotten,
        }
    }
}

impl SpoolEntry {
    /// Time since the latest of its start, its end and its last change.
    pub(crate) fn age(&self, now: SystemTime) -> Duration {
        let changed = std::fs::metadata(self.path())
            .and_then(|meta| meta.modified())
            .ok();
        let record = self.record().ok();
        let time = |time: Timestamp| SystemTime::from(time);
        let start = record.as_ref().map(|record| time(record.start));
        let end = record.as_ref().and_then(|record| record.end).map(time);
        let youngest = [changed, start, end].into_iter().flatten().max();
        youngest
            .and_then(|time| now.duration_since(time).ok())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    const MINUTE: Duration = Duration::from_secs(60);

    /// A wall clock ahead by `ahead`, on a machine that has been up for `since_boot`, in `boot`.
    fn clocks(ahead: Duration, since_boot: Duration, boot: &str) -> ClockReading {
        ClockReading {
            wall: SystemTime::now() + ahead,
            boot_id: boot.to_owned(),
            since_boot,
        }
    }

    fn acknowledged(id: &str) -> TransactionRecord {
        let mut record = record(id);
        record.tutti.as_mut().unwrap().delivery.acknowledged = true;
        record
    }

    /// The number of removed entries, and true if the spool still reports the same id.
    fn purged(record: &TransactionRecord, ttl: Duration, now: &ClockReading) -> (usize, bool) {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(dir.path()).unwrap();
        let id = spool.id().unwrap();
        spool.create(record).unwrap();
        let removed = spool.purge(ttl, now, |_| false).unwrap();
        (removed, spool.verified_id() == Some(id))
    }

    #[test]
    fn old_entries_go_unless_they_run() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(dir.path()).unwrap();
        for id in ["done", "active"] {
            spool.create(&record(id)).unwrap();
        }
        std::fs::create_dir(dir.path().join("unreadable")).unwrap();
        let is_active = |id: &TransactionId| id.as_str() == "active";

        let soon = clocks(DAY, DAY, "boot");
        assert_eq!(spool.purge(2 * DAY, &soon, is_active).unwrap(), 0);
        let mut yesterday = clocks(Duration::ZERO, DAY, "boot");
        yesterday.wall -= DAY;
        assert_eq!(
            spool.purge(Duration::ZERO, &yesterday, is_active).unwrap(),
            0,
            "clock went back"
        );
        let later = clocks(3 * DAY, 3 * DAY, "boot");
        assert_eq!(spool.purge(2 * DAY, &later, is_active).unwrap(), 2);
        let left: Vec<_> = spool
            .entries()
            .unwrap()
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        assert_eq!(left, ["active".parse().unwrap()]);
    }

    #[test]
    fn a_clock_that_jumps_ahead_takes_no_outcome_that_nobody_has_safe() {
        let jumped = clocks(30 * DAY, 3 * MINUTE, "boot");
        assert_eq!(purged(&record("t1"), 14 * DAY, &jumped), (0, true));
    }

    #[test]
    fn what_goes_unacknowledged_takes_the_id_along() {
        let later = clocks(30 * DAY, 30 * DAY, "boot");
        assert_eq!(purged(&record("t1"), 14 * DAY, &later), (1, false));
        let rebooted = clocks(30 * DAY, MINUTE, "another boot");
        assert_eq!(purged(&record("t1"), 14 * DAY, &rebooted), (1, false));
    }

    #[test]
    fn an_acknowledged_entry_goes_unnoticed_unless_it_is_young() {
        let record = acknowledged("t1");
        let later = clocks(30 * DAY, 30 * DAY, "boot");
        assert_eq!(purged(&record, 14 * DAY, &later), (1, true));
        let jumped = clocks(30 * DAY, 30 * MINUTE, "boot");
        assert_eq!(purged(&record, 14 * DAY, &jumped), (1, false));
        let rebooted = clocks(30 * DAY, MINUTE, "another boot");
        assert_eq!(purged(&record, 14 * DAY, &rebooted), (1, true));
    }

    #[test]
    fn an_unreadable_entry_takes_the_id_along_and_a_foreign_one_does_not() {
        let now = clocks(Duration::ZERO, DAY, "boot");
        assert_eq!(
            PurgeDecision::of(None, DAY, &now),
            PurgeDecision::RemoveQueryable
        );
        let mut foreign = record("t1");
        foreign.tutti = None;
        assert_eq!(
            PurgeDecision::of(Some(&foreign), DAY, &now),
            PurgeDecision::RemoveForgotten
        );
    }
}
