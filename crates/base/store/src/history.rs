//! Progress of a database's history, as one server process knows it: [`CommitHistory`].
//!
//! Every commit has a number, which the ledger counts. Invariant: a commit follows the last one of
//! this process. A database with fewer commits is an older one (a standby that lagged behind and
//! was promoted, or a backup that was restored); a database with more commits is written by another
//! process. In both cases nothing more is committed. A [`HistoryMark`] beside the database carries
//! this across restarts. It is written at most once in [`HISTORY_MARK_INTERVAL`] and at the end, so
//! it may be behind the database, and is never ahead of it.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use tokio::sync::watch;

use crate::StoreError;
use crate::defaults::HISTORY_MARK_INTERVAL;
use crate::history_mark::{HistoryMark, OlderHistory};
use crate::ledger::NumberLedger;
use crate::{HistoryFileError, OpenStoreError};

/// The last commit of this process, and the mark beside the database.
#[derive(Debug)]
pub(crate) struct CommitHistory {
    file: Option<PathBuf>,
    identity: String,
    last: NumberLedger,
    /// Number of a commit of which it is not known if it took place.
    in_doubt: Option<i64>,
    /// Number of commits below which the file is not written, since it names an older history that
    /// is not accepted yet.
    floor: i64,
    /// Time of the last write of the file, and the number of commits in it.
    saved: Option<(Instant, i64)>,
    /// Reason for which commits ended; `None` while commits are made.
    ended: watch::Sender<Option<StoreError>>,
}

// === impl CommitHistory ===

impl CommitHistory {
    /// Compares the database with the file, if it exists.
    pub(crate) fn open(
        file: Option<&Path>,
        place: &str,
        identity: &str,
        found: &NumberLedger,
    ) -> Result<Option<OlderHistory>, OpenStoreError> {
        let Some(file) = file else { return Ok(None) };
        let Some(known) = HistoryMark::read(file)? else {
            return Ok(None);
        };
        if known.identity != identity {
            tracing::warn!(
                database = place, file = %file.display(),
                "this is another database than the one that was used before; its history begins anew"
            );
            return Ok(None);
        }
        if found.commits >= known.commits && found.epoch >= known.epoch {
            return Ok(None);
        }
        Ok(Some(OlderHistory {
            database: place.to_owned(),
            in_database: HistoryMark::of(identity, found, 0),
            last_known: known,
        }))
    }

    /// The history of a process that has just started its epoch.
    pub(crate) fn from_epoch(
        file: Option<PathBuf>,
        identity: String,
        last: NumberLedger,
        older: Option<&OlderHistory>,
    ) -> Self {
        Self {
            file,
            identity,
            last,
            floor: older.map_or(0, |older| older.last_known.commits),
            in_doubt: None,
            saved: None,
            ended: watch::Sender::new(None),
        }
    }

    /// Watches the end of commits: `Some(reason)` once commits have ended.
    pub(crate) fn watch_end(&self) -> watch::Receiver<Option<StoreError>> {
        self.ended.subscribe()
    }

    pub(crate) fn epoch(&self) -> i64 {
        self.last.epoch
    }

    /// Refuses commits after the database was found to have another history.
    pub(crate) fn check_not_ended(&self) -> Result<(), StoreError> {
        self.ended.borrow().clone().map_or(Ok(()), Err)
    }

    /// Compares the ledger found in the database; `found.commits` is the last commit that took
    /// place.
    pub(crate) fn compare_ledger(&mut self, found: &NumberLedger) -> Result<(), StoreError> {
        let (own, doubtful) = (self.last.commits, self.in_doubt);
        if found.epoch == self.last.epoch
            && (found.commits == own || Some(found.commits) == doubtful)
        {
            // Its session has ended by now, so the commit did not take place.
            self.in_doubt = doubtful.filter(|_| found.commits != own);
            return Ok(());
        }
        let older =
            found.epoch < self.last.epoch || found.epoch == self.last.epoch && found.commits < own;
        let error = if older {
            StoreError::HistoryWentBack {
                own,
                found: found.commits,
            }
        } else {
            StoreError::Superseded
        };
        self.end_commits(error.clone());
        Err(error)
    }

    /// Compares the ledger as read inside a transaction that has counted itself already.
    pub(crate) fn compare_begun(&mut self, ledger: &NumberLedger) -> Result<(), StoreError> {
        self.compare_ledger(&NumberLedger {
            commits: ledger.commits - 1,
            ..*ledger
        })
    }

    /// Ends commits for this reason.
    pub(crate) fn end_commits(&mut self, error: StoreError) {
        tracing::error!(%error, "nothing more is written to this database");
        self.ended.send_replace(Some(error));
    }

    pub(crate) fn mark_in_doubt(&mut self, commits: i64) {
        self.in_doubt = Some(commits);
    }

    /// Records a commit that took place.
    pub(crate) fn record_commit(&mut self, ledger: NumberLedger) {
        self.last = ledger;
        self.in_doubt = None;
    }

    /// True if the file is behind, and was last written long enough ago.
    pub(crate) fn is_due(&self) -> bool {
        let is_old = |(at, _): (Instant, i64)| at.elapsed() >= HISTORY_MARK_INTERVAL;
        self.is_behind() && (self.ended.borrow().is_some() || self.saved.is_none_or(is_old))
    }

    fn is_behind(&self) -> bool {
        let commits = self.last.commits;
        commits >= self.floor && self.saved.is_none_or(|(_, saved)| saved != commits)
    }

    /// Writes the file if it is behind. Waits for the disk.
    pub(crate) fn save(&mut self) {
        if let Some(unsaved) = self.pending_mark() {
            let commits = unsaved.write();
            self.record_saved(commits);
        }
    }

    /// Content to be written to the file; `None` if it is not behind.
    pub(crate) fn pending_mark(&self) -> Option<UnsavedMark> {
        let file = self.file.clone().filter(|_| self.is_behind())?;
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let at_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        Some(UnsavedMark {
            file,
            mark: HistoryMark::of(&self.identity, &self.last, at_ms),
        })
    }

    /// Records the number of commits that the file names now; `None`: it could not be written, and
    /// the write is repeated.
    pub(crate) fn record_saved(&mut self, commits: Option<i64>) {
        let before = self.saved.map_or(0, |(_, commits)| commits);
        self.saved = Some((Instant::now(), commits.unwrap_or(before)));
    }
}

/// A history file that is still to be written.
#[derive(Debug)]
pub(crate) struct UnsavedMark {
    file: PathBuf,
    mark: HistoryMark,
}

impl UnsavedMark {
    /// Waits for the disk. Returns the number of commits that the file names, if it was written.
    pub(crate) fn write(self) -> Option<i64> {
        match self.mark.write(&self.file) {
            Ok(()) => Some(self.mark.commits),
            Err(error) => {
                tracing::warn!(%error, "cannot write how far the database's history went");
                None
            }
        }
    }
}

// === impl HistoryMark ===

impl HistoryMark {
    fn of(identity: &str, ledger: &NumberLedger, at_ms: i64) -> Self {
        Self {
            identity: identity.to_owned(),
            epoch: ledger.epoch,
            commits: ledger.commits,
            job: ledger.job,
            event: ledger.event,
            audit: ledger.audit,
            at_ms,
        }
    }

    /// Reads the file; `None` if it does not exist.
    fn read(path: &Path) -> Result<Option<Self>, HistoryFileError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let path = path.to_owned();
                return Err(HistoryFileError::Read { path, source });
            }
        };
        decode_errors::json::from_str(&text)
            .map(Some)
            .map_err(|source| HistoryFileError::Content {
                path: path.to_owned(),
                source,
            })
    }

    fn write(&self, path: &Path) -> Result<(), HistoryFileError> {
        let text = serde_json::json!(self).to_string() + "\n";
        Ok(pki::durable::write_atomic(path, text.as_bytes(), 0o600)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(epoch: i64, commits: i64) -> NumberLedger {
        NumberLedger {
            job: 7,
            event: 9,
            commits,
            epoch,
            audit: 0,
            audit_hash: [0; 32],
        }
    }

    fn history(file: Option<PathBuf>) -> CommitHistory {
        CommitHistory::from_epoch(file, "one".to_owned(), ledger(3, 100), None)
    }

    #[test]
    fn only_the_next_commit_follows() {
        let went_back = |epoch, commits| {
            let error = history(None)
                .compare_begun(&ledger(epoch, commits))
                .unwrap_err();
            assert!(
                !matches!(error, StoreError::Superseded),
                "{epoch} {commits}"
            );
        };
        assert!(history(None).compare_begun(&ledger(3, 101)).is_ok());
        went_back(3, 100);
        went_back(3, 1);
        went_back(2, 101);
        for other in [ledger(3, 102), ledger(4, 90), ledger(4, 101)] {
            let error = history(None).compare_begun(&other).unwrap_err();
            assert!(matches!(error, StoreError::Superseded), "{other:?}");
        }
    }

    #[test]
    fn a_commit_in_doubt_may_have_taken_place_or_not() {
        for commits in [101, 102] {
            let mut history = history(None);
            history.mark_in_doubt(101);
            assert!(history.compare_begun(&ledger(3, commits)).is_ok());
        }
        let mut history = history(None);
        history.mark_in_doubt(101);
        assert!(history.compare_begun(&ledger(3, 100)).is_err());
        assert!(history.check_not_ended().is_err(), "for good");
    }

    #[test]
    fn the_file_tells_an_older_copy_from_another_database() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let open = |identity: &str, found: &NumberLedger| {
            CommitHistory::open(Some(&path), "here", identity, found).unwrap()
        };
        assert!(open("one", &ledger(1, 1)).is_none(), "no file");
        history(Some(path.clone())).save();
        assert!(open("one", &ledger(3, 100)).is_none());
        assert!(open("one", &ledger(4, 120)).is_none());
        assert!(open("two", &ledger(1, 1)).is_none());
        for older in [ledger(3, 99), ledger(2, 100), ledger(4, 90)] {
            let found = open("one", &older).unwrap();
            assert_eq!((found.last_known.commits, found.last_known.job), (100, 7));
            assert_eq!(found.in_database.commits, older.commits);
        }
        let older = open("one", &ledger(3, 99)).unwrap();
        let mut unaccepted = CommitHistory::from_epoch(
            Some(path.clone()),
            "one".to_owned(),
            ledger(4, 99),
            Some(&older),
        );
        unaccepted.save();
        assert!(open("one", &ledger(4, 99)).is_some(), "not accepted yet");
        std::fs::write(&path, "{").unwrap();
        let error = CommitHistory::open(Some(&path), "here", "one", &ledger(3, 100)).unwrap_err();
        assert!(error.to_string().contains("history"), "{error}");
    }
}
