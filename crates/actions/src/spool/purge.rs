//! Removal of what is older than its time to live. Main function:
//! [`Spool::purge`].
//!
//! The rules: what runs is kept; everything else goes, also what cannot be read
//! or whose end nobody knows. A clock that jumps backwards makes entries look
//! younger, never older.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use pxp::TransactionId;

use super::store::PURGE_PREFIX;
use super::{Entry, Spool};

impl Spool {
    /// Removes entries older than `ttl`, except those that `is_active`. Returns
    /// how many went.
    pub(crate) fn purge(
        &self,
        ttl: Duration,
        now: SystemTime,
        is_active: impl Fn(&TransactionId) -> bool,
    ) -> std::io::Result<usize> {
        let mut removed = 0;
        for (id, entry) in self.entries()? {
            if is_active(&id) || entry.age(now) <= ttl {
                continue;
            }
            // One step to make it unknown, then the slow part.
            let doomed = self.directory().join(format!("{PURGE_PREFIX}{id}"));
            if std::fs::rename(entry.path(), &doomed).is_ok() {
                std::fs::remove_dir_all(&doomed)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Entry {
    /// Time since the youngest of its start, its end and its last change.
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

    #[test]
    fn old_entries_go_unless_they_run() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(dir.path()).unwrap();
        for id in ["done", "active"] {
            spool.create(&record(id)).unwrap();
        }
        std::fs::create_dir(dir.path().join("unreadable")).unwrap();
        let is_active = |id: &TransactionId| id.as_str() == "active";

        let soon = SystemTime::now() + DAY;
        assert_eq!(spool.purge(2 * DAY, soon, is_active).unwrap(), 0);
        let yesterday = SystemTime::now() - DAY;
        assert_eq!(
            spool.purge(Duration::ZERO, yesterday, is_active).unwrap(),
            0,
            "clock went back"
        );
        let later = SystemTime::now() + 3 * DAY;
        assert_eq!(spool.purge(2 * DAY, later, is_active).unwrap(), 2);
        let left: Vec<_> = spool
            .entries()
            .unwrap()
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        assert_eq!(left, ["active".parse().unwrap()]);
    }
}
