//! The task that writes catalogs to the database, and deletes unused ones: [`CatalogWriter`].
//!
//! Invariants: changes are written in their order, those that wait together in one transaction; a change
//! that cannot be written is given up, except that a node is forgotten, which is tried again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use error_causes::chain;
use pcp::Certname;
use store::{AgentCatalogBounds, AgentCatalogChange, Store, StoreError, now_ms};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::defaults::{PRUNE_CATALOGS, WRITES_TOGETHER_BYTES_MAX, WRITES_TOGETHER_MAX};
use crate::kept_catalogs::KeptCatalogs;
use crate::stored_catalogs::{CatalogWrite, CatalogWriteChange};
use crate::stored_form::{CatalogSealer, StoredCatalogError};

/// The only writer of catalogs.
pub(crate) struct CatalogWriter {
    pub(crate) store: Store,
    pub(crate) sealer: Arc<CatalogSealer>,
    pub(crate) kept: Arc<KeptCatalogs>,
    pub(crate) waiting_bytes: Arc<AtomicUsize>,
    pub(crate) bounds: AgentCatalogBounds,
    /// Time without use after which a catalog is deleted, in milliseconds.
    pub(crate) unused_ms_max: i64,
}

impl CatalogWriter {
    /// Writes until `stopped`, and then what waits.
    pub(crate) async fn run(
        self,
        mut writes: mpsc::Receiver<CatalogWrite>,
        stopped: CancellationToken,
    ) {
        let mut prune_at = Instant::now();
        let mut to_forget = BTreeSet::new();
        loop {
            tokio::select! {
                biased;
                first = writes.recv() => match first {
                    Some(first) => self.write_waiting(first, &mut writes, &mut to_forget).await,
                    None => return,
                },
                // no further change is accepted then, and those that wait are received
                () = stopped.cancelled(), if !writes.is_closed() => writes.close(),
                () = sleep_until(prune_at), if !writes.is_closed() => {
                    self.prune().await;
                    prune_at = Instant::now() + PRUNE_CATALOGS;
                }
            }
        }
    }

    /// Writes a change with those that wait behind it.
    async fn write_waiting(
        &self,
        first: CatalogWrite,
        writes: &mut mpsc::Receiver<CatalogWrite>,
        to_forget: &mut BTreeSet<Certname>,
    ) {
        let mut bytes = first.bytes;
        let mut together = vec![first];
        while together.len() < WRITES_TOGETHER_MAX && bytes < WRITES_TOGETHER_BYTES_MAX {
            let Ok(next) = writes.try_recv() else {
                break;
            };
            bytes += next.bytes;
            together.push(next);
        }
        let before: Vec<Certname> = to_forget.iter().cloned().collect();
        if let Err(error) = self.write(&before, together, to_forget).await {
            let error = chain(&error);
            tracing::warn!(
                error,
                "catalogs are not stored; they are compiled again after a restart"
            );
        }
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    async fn write(
        &self,
        forgotten_before: &[Certname],
        together: Vec<CatalogWrite>,
        to_forget: &mut BTreeSet<Certname>,
    ) -> Result<(), StoreError> {
        let names: Vec<(Certname, bool)> = together
            .iter()
            .map(|it| {
                let is_forget = matches!(it.change, CatalogWriteChange::Forget);
                (it.certname.clone(), is_forget)
            })
            .collect();
        let forget = |certname: &Certname| AgentCatalogChange::Forget {
            certname: certname.to_string(),
        };
        let mut changes: Vec<AgentCatalogChange> = forgotten_before.iter().map(forget).collect();
        let sealer = Arc::clone(&self.sealer);
        let sealing = tokio::task::spawn_blocking(move || {
            let rows = together.into_iter().flat_map(|it| rows(&sealer, it));
            rows.collect::<Vec<_>>()
        });
        // the server is shutting down if the thread is lost
        changes.extend(sealing.await.unwrap_or_default());
        let written = self
            .store
            .change_agent_catalogs(&changes, self.bounds)
            .await;
        match &written {
            Ok(()) => {
                for certname in forgotten_before {
                    to_forget.remove(certname);
                    self.kept.remove_unwritten(certname);
                }
            }
            Err(_) => {
                let forgotten = names.iter().filter(|(_, is_forget)| *is_forget);
                for (certname, _) in forgotten {
                    if to_forget.insert(certname.clone()) {
                        self.kept.add_unwritten(certname);
                    }
                }
            }
        }
        for (certname, _) in names {
            self.kept.remove_unwritten(&certname);
        }
        written
    }

    async fn prune(&self) {
        let before_ms = now_ms().saturating_sub(self.unused_ms_max);
        self.kept.drop_unused(before_ms);
        match self.store.prune_agent_catalogs(before_ms).await {
            Ok(0) => {}
            Ok(deleted) => tracing::info!(deleted, "unused catalogs of nodes deleted"),
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(error, "cannot delete unused catalogs; tried again later");
            }
        }
    }
}

/// The rows of a change, in their order.
fn rows(sealer: &CatalogSealer, write: CatalogWrite) -> Vec<AgentCatalogChange> {
    let certname = write.certname;
    match write.change {
        CatalogWriteChange::Compiled {
            catalog,
            compilation,
        } => {
            let row = catalog.and_then(|catalog| {
                let row = sealer.row(&certname, &catalog);
                let report = |error: &StoredCatalogError| {
                    let error = chain(error);
                    tracing::warn!(%certname, error, "a catalog cannot be stored");
                };
                row.inspect_err(report).ok()
            });
            let compilation = AgentCatalogChange::Compilation(compilation);
            let row = row.map(AgentCatalogChange::Catalog);
            row.into_iter().chain([compilation]).collect()
        }
        CatalogWriteChange::Given { sequence, at_ms } => vec![AgentCatalogChange::Given {
            certname: certname.to_string(),
            sequence,
            at_ms,
        }],
        CatalogWriteChange::Forget => vec![AgentCatalogChange::Forget {
            certname: certname.to_string(),
        }],
    }
}
