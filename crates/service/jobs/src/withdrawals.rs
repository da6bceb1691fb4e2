//! Commands that were answered with an error while their job may have been stored.
//!
//! [`WithdrawnJobs`] is a directory with an empty file for each such job, named by one of its
//! transactions. Invariant: the file is durable before the caller is answered, and is deleted when
//! nothing of the job can start any more; so not even a restart starts a command that was answered
//! with an error.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pxp::TransactionId;

/// The directory of withdrawn jobs; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct WithdrawnJobs {
    /// Path of the directory; `None`: withdrawals are lost at a restart.
    directory: Option<Arc<Path>>,
}

// === impl WithdrawnJobs ===

impl WithdrawnJobs {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory: directory.map(Arc::from),
        }
    }

    /// Records a job durably. `false`: this failed; the reason is in the log.
    pub(crate) async fn remember(&self, transaction: &TransactionId) -> bool {
        let Some(directory) = self.directory.clone() else {
            return false;
        };
        let name = transaction.clone();
        let kept = tokio::task::spawn_blocking(move || write_record(&directory, &name)).await;
        let error = match kept {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => error,
            Err(error) => io::Error::other(error),
        };
        let directory = self.directory.as_deref().map(Path::display);
        tracing::error!(
            directory = directory.map(tracing::field::display),
            %error,
            "cannot write down that a job must not start; it would after a restart"
        );
        false
    }

    /// Deletes the record of a job of which nothing can start any more. A file that comes back
    /// after a crash does no harm.
    pub(crate) fn forget(&self, transaction: &TransactionId) {
        let Some(directory) = &self.directory else {
            return;
        };
        let path = directory.join(transaction.as_str());
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "a note that is not needed any more stays");
        }
    }

    /// All recorded transactions, which a server reads at its start.
    pub(crate) fn load_all(&self) -> io::Result<HashSet<TransactionId>> {
        let Some(directory) = &self.directory else {
            return Ok(HashSet::new());
        };
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
            entries => entries?,
        };
        let mut all = HashSet::new();
        for entry in entries {
            // A file whose name is not a transaction id was not made here.
            all.extend(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok()),
            );
        }
        Ok(all)
    }

    pub(crate) fn directory_path(&self) -> PathBuf {
        self.directory
            .as_deref()
            .map(Path::to_owned)
            .unwrap_or_default()
    }
}

fn write_record(directory: &Path, transaction: &TransactionId) -> io::Result<()> {
    if !directory.is_dir() {
        fs::create_dir_all(directory)?;
        if let Some(parent) = directory.parent() {
            File::open(parent)?.sync_all()?;
        }
    }
    File::create(directory.join(transaction.as_str()))?.sync_all()?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_remembered_is_there_after_a_restart_until_it_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("withdrawn");
        let (one, two) = (TransactionId::random(), TransactionId::random());
        let withdrawals = WithdrawnJobs::new(Some(place.clone()));
        assert!(withdrawals.load_all().unwrap().is_empty());
        assert!(withdrawals.remember(&one).await);
        assert!(withdrawals.remember(&one).await, "twice is once");
        assert!(withdrawals.remember(&two).await);
        fs::write(place.join(".swp"), "of an editor").unwrap();
        let again = WithdrawnJobs::new(Some(place));
        assert_eq!(
            again.load_all().unwrap(),
            HashSet::from([one.clone(), two.clone()])
        );
        again.forget(&one);
        again.forget(&one);
        assert_eq!(again.load_all().unwrap(), HashSet::from([two]));
    }

    #[tokio::test]
    async fn what_cannot_be_remembered_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let transaction = TransactionId::random();
        assert!(
            !WithdrawnJobs::new(Some(file.clone()))
                .remember(&transaction)
                .await
        );
        assert!(!WithdrawnJobs::new(None).remember(&transaction).await);
        assert!(
            WithdrawnJobs::new(Some(file)).load_all().is_err(),
            "not taken for empty"
        );
    }
}
