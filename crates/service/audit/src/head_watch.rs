//! Maintains the head in the file beside the database: [`compare_head`] at the start,
//! [`update_head`] at intervals.
//!
//! Invariant: a head that the chain contradicts is not overwritten. It is kept as evidence under
//! another name, and reported in the log and as an entry.

use std::path::{Path, PathBuf};

use serde_json::json;
use store::{Store, now_ms};

use crate::action::{AuditActor, AuditOutcome, AuditPhase, AuditedAction};
use crate::head::{CONTRADICTED, ChainHead};
use crate::{AuditError, HeadFileError, stored_chain};

/// The file and the chain could not be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error(transparent)]
    File(#[from] HeadFileError),
    #[error("cannot put {path} aside")]
    Aside {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Chain(#[from] AuditError),
}

/// Compares the file with the chain when the server starts; returns the head in the file.
pub(crate) async fn compare_head(
    store: &Store,
    path: &Path,
) -> Result<Option<ChainHead>, WatchError> {
    let owned = path.to_owned();
    let read = run_blocking(move || ChainHead::read(&owned)).await;
    let told = match read {
        Ok(told) => told,
        Err(error @ HeadFileError::Content { .. }) => {
            report_damage(store, path, &error.to_string()).await?;
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let ledger = stored_chain::read_head(store).await?;
    let last = store.last_audit_entry().await.map_err(AuditError::Read)?;
    let last = last.map_or((0, [0; 32]), |row| (row.seq, row.computed_hash()));
    if last != (ledger.seq, ledger.hash) {
        let what = format!("the last entry is {} and has to be {}", last.0, ledger.seq);
        report_damage(store, path, &what).await?;
        return Ok(None);
    }
    match told {
        Some(head) if !is_intact(store, head).await? => {
            let what = format!("entry {} is gone or another one", head.seq);
            report_damage(store, path, &what).await?;
            Ok(None)
        }
        // A new server: from now on a missing file means that it was removed.
        None if ledger.seq == 0 => {
            let owned = path.to_owned();
            run_blocking(move || ledger.write(&owned)).await?;
            Ok(Some(ledger))
        }
        None => {
            let what = format!(
                "{} is not there, so nothing says whether the end of the chain (entry {}) was cut off",
                path.display(),
                ledger.seq
            );
            tracing::error!(
                "the audit has nothing to compare with: {what}; compare `tutti audit verify` with a head \
                 that you kept"
            );
            record_finding(store, "head_missing", &what).await?;
            Ok(None)
        }
        told @ Some(_) => Ok(told),
    }
}

/// Writes the current head into the file, if it has changed.
pub(crate) async fn update_head(
    store: &Store,
    path: &Path,
    written: Option<ChainHead>,
) -> Result<ChainHead, WatchError> {
    let head = stored_chain::read_head(store).await?;
    if written == Some(head) {
        return Ok(head);
    }
    if let Some(before) = written
        && !is_intact(store, before).await?
    {
        let what = format!("entry {} is gone or another one", before.seq);
        report_damage(store, path, &what).await?;
    }
    let owned = path.to_owned();
    run_blocking(move || head.write(&owned)).await?;
    Ok(head)
}

/// Returns `true` if the entry exists, or was pruned.
async fn is_intact(store: &Store, head: ChainHead) -> Result<bool, AuditError> {
    if head.seq == 0 {
        return Ok(true);
    }
    let rows = store.audit_entries(head.seq, 1).await;
    let rows = rows.map_err(AuditError::Read)?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    if row.seq == head.seq {
        return Ok(row.hash == head.hash && row.computed_hash() == head.hash);
    }
    let checkpoint = store.last_audit_checkpoint().await;
    let checkpoint = checkpoint.map_err(AuditError::Read)?;
    Ok(checkpoint.is_some_and(|row| crate::prune::pruned_through(&row) >= head.seq))
}

async fn report_damage(store: &Store, path: &Path, what: &str) -> Result<(), WatchError> {
    tracing::error!(
        "THE AUDIT CHAIN WAS CHANGED BY OTHER HANDS: {what}; run `tutti audit verify` and compare \
         with a backup"
    );
    let aside = path.with_extension(format!("{CONTRADICTED}-{}", now_ms()));
    match std::fs::rename(path, &aside) {
        Ok(()) => tracing::error!(kept = %aside.display(), "the head that contradicts it is kept"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => {
            let path = path.to_owned();
            return Err(WatchError::Aside { path, source });
        }
    }
    record_finding(store, "chain_contradicted", what).await
}

/// Records a finding about the chain as an entry.
async fn record_finding(store: &Store, action: &str, what: &str) -> Result<(), WatchError> {
    let act = AuditedAction {
        actor: AuditActor::server(),
        service: "audit".to_owned(),
        action: action.to_owned(),
        details: [("what".to_owned(), json!(what))].into_iter().collect(),
        ..AuditedAction::default()
    };
    let entry = act.to_entry(AuditPhase::Event, &AuditOutcome::default(), now_ms());
    let appended = store.append_audit(vec![entry]).await;
    Ok(appended.map(drop).map_err(AuditError::Write)?)
}

/// Runs file operations outside of the runtime's threads.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
