//! The catalogs in the database: [`StoredCatalogs`].
//!
//! Catalogs are written behind: no agent waits for the database. Invariants: the changes of a node are
//! written in their order; what is read is what was written last, or older, so a catalog must be compared
//! with what it would be now before it is given; a node that is forgotten has no catalog here once a
//! later one of it is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use environments::EnvironmentName;
use error_causes::chain;
use pcp::Certname;
use pki::seal::SealKey;
use store::{AgentCatalogBounds, CatalogCompilationRow, Store, StoreError, now_ms};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::CatalogCompilation;
use crate::catalog_writer::CatalogWriter;
use crate::defaults::{
    CATALOGS_EACH_MAX, COMPILATIONS_EACH_MAX, WRITES_WAITING_BYTES_MAX, WRITES_WAITING_MAX,
};
use crate::kept_catalogs::{KeptAgentCatalog, KeptCatalogs};
use crate::stored_form::{CatalogSealer, StoredCatalogError};

/// The database of catalogs.
#[derive(Debug, Clone)]
pub struct CatalogDatabase {
    pub store: Store,
    /// Key that seals the catalogs.
    pub seal: Arc<SealKey>,
    /// True if only nodes of the inventory in this database have catalogs.
    pub known_nodes_only: bool,
}

/// The handle to the catalogs in the database.
#[derive(Debug)]
pub(crate) struct StoredCatalogs {
    store: Store,
    sealer: Arc<CatalogSealer>,
    kept: Arc<KeptCatalogs>,
    writes: mpsc::Sender<CatalogWrite>,
    /// Bytes of the documents that wait to be written.
    waiting_bytes: Arc<AtomicUsize>,
    last_sequence: AtomicI64,
}

/// A change that waits to be written.
#[derive(Debug)]
pub(crate) struct CatalogWrite {
    pub(crate) certname: Certname,
    pub(crate) change: CatalogWriteChange,
    /// Bytes of the document.
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) enum CatalogWriteChange {
    /// A compilation, with its catalog if that is kept.
    Compiled {
        catalog: Option<Arc<KeptAgentCatalog>>,
        compilation: CatalogCompilationRow,
    },
    Given {
        sequence: i64,
        at_ms: i64,
    },
    Forget,
}

/// A compilation in the history of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCompilation {
    /// Time of the compilation in milliseconds since 1970.
    pub at_ms: i64,
    /// Position among all compilations.
    pub(crate) sequence: i64,
    pub compilation: CatalogCompilation,
}

impl StoredCatalogs {
    /// Opens the catalogs, and starts the task that writes them.
    pub(crate) async fn start(
        database: CatalogDatabase,
        kept: Arc<KeptCatalogs>,
        unused_ms_max: i64,
        (tasks, stopped): (&TaskTracker, CancellationToken),
    ) -> Result<Self, StoreError> {
        let CatalogDatabase {
            store,
            seal,
            known_nodes_only,
        } = database;
        let last_sequence = store.last_agent_catalog().await?.unwrap_or(0);
        let sealer = Arc::new(CatalogSealer::new(seal));
        let (writes, receiver) = mpsc::channel(WRITES_WAITING_MAX);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let writer = CatalogWriter {
            store: store.clone(),
            sealer: Arc::clone(&sealer),
            kept: Arc::clone(&kept),
            waiting_bytes: Arc::clone(&waiting_bytes),
            bounds: AgentCatalogBounds {
                catalogs: CATALOGS_EACH_MAX as u64,
                compilations: COMPILATIONS_EACH_MAX,
                known_nodes_only,
            },
            unused_ms_max,
        };
        tasks.spawn(writer.run(receiver, stopped));
        Ok(Self {
            store,
            sealer,
            kept,
            writes,
            waiting_bytes,
            last_sequence: AtomicI64::new(last_sequence),
        })
    }

    /// The position of a new catalog or compilation.
    pub(crate) fn next_sequence(&self) -> i64 {
        self.last_sequence.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The catalogs of a node as they were written last, the newest first. None that cannot be read.
    pub(crate) async fn load(
        &self,
        certname: &Certname,
    ) -> Result<Vec<KeptAgentCatalog>, StoreError> {
        // one more that its agent did not get yet
        let limit = CATALOGS_EACH_MAX as u64 + 1;
        let rows = self.store.agent_catalogs(certname.as_str(), limit).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (sealer, node) = (Arc::clone(&self.sealer), certname.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let rows = rows.into_iter().filter_map(|row| {
                let sequence = row.sequence;
                let read = sealer.catalog(&node, row);
                let report = |error: &StoredCatalogError| {
                    let error = chain(error);
                    tracing::warn!(certname = %node, sequence, error, "a stored catalog is not used");
                };
                read.inspect_err(report).ok()
            });
            rows.collect()
        });
        // the server is shutting down if the thread is lost
        Ok(reading.await.unwrap_or_default())
    }

    /// Records a compilation, with its catalog if that is kept.
    pub(crate) fn write_compiled(
        &self,
        certname: &Certname,
        catalog: Option<Arc<KeptAgentCatalog>>,
        (sequence, compilation): (i64, &CatalogCompilation),
    ) {
        let newest = catalog.as_ref().and_then(|it| it.newest.as_ref());
        let bytes = newest.map_or(0, |it| it.body.len());
        let summary = serde_json::to_string(compilation).unwrap_or_default();
        let compilation = CatalogCompilationRow {
            certname: certname.to_string(),
            sequence,
            at_ms: now_ms(),
            summary,
        };
        let change = CatalogWriteChange::Compiled {
            catalog,
            compilation,
        };
        self.enqueue(CatalogWrite {
            certname: certname.clone(),
            change,
            bytes,
        });
    }

    /// Records that an agent got a catalog.
    pub(crate) fn write_given(&self, certname: &Certname, sequence: i64, at_ms: i64) {
        self.kept.add_unwritten(certname);
        self.enqueue(CatalogWrite {
            certname: certname.clone(),
            change: CatalogWriteChange::Given { sequence, at_ms },
            bytes: 0,
        });
    }

    /// Deletes the catalogs of a node. Waits while too many changes wait, because this one must not be lost.
    pub(crate) async fn write_forget(&self, certname: &Certname) {
        let write = CatalogWrite {
            certname: certname.clone(),
            change: CatalogWriteChange::Forget,
            bytes: 0,
        };
        if let Err(mpsc::error::SendError(write)) = self.writes.send(write).await {
            self.kept.remove_unwritten(&write.certname);
        }
    }

    /// Lets a change wait to be written, or gives it up if too many wait: the catalog is compiled again
    /// after the next restart then.
    fn enqueue(&self, write: CatalogWrite) {
        let (bytes, waiting) = (write.bytes, self.waiting_bytes.load(Ordering::Relaxed));
        if waiting > 0 && waiting + bytes > WRITES_WAITING_BYTES_MAX {
            self.give_up(&write, "too many bytes wait to be written");
            return;
        }
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let Err(error) = self.writes.try_send(write) else {
            return;
        };
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        match error {
            mpsc::error::TrySendError::Full(write) => {
                self.give_up(&write, "too many changes wait to be written");
            }
            mpsc::error::TrySendError::Closed(write) => {
                self.give_up(&write, "the server is shutting down");
            }
        }
    }

    fn give_up(&self, write: &CatalogWrite, cause: &str) {
        self.kept.remove_unwritten(&write.certname);
        tracing::warn!(certname = %write.certname, cause, "a catalog is not stored");
    }

    /// The last compilations of a node, the newest first. None that cannot be read.
    pub(crate) async fn compilations(
        &self,
        certname: &Certname,
    ) -> Result<Vec<RecordedCompilation>, StoreError> {
        let rows = self
            .store
            .catalog_compilations(certname.as_str(), COMPILATIONS_EACH_MAX);
        let rows = rows.await?.into_iter().filter_map(|row| {
            let read = serde_json::from_str(&row.summary);
            let report = |error: &serde_json::Error| {
                tracing::warn!(%certname, %error, "a recorded compilation cannot be read");
            };
            Some(RecordedCompilation {
                at_ms: row.at_ms,
                sequence: row.sequence,
                compilation: read.inspect_err(report).ok()?,
            })
        });
        Ok(rows.collect())
    }

    /// Certnames after `after` whose newest catalogs are of an environment, and were given since then.
    pub(crate) async fn nodes(
        &self,
        environment: &EnvironmentName,
        since_ms: i64,
        after: &str,
        limit: u64,
    ) -> Result<Vec<String>, StoreError> {
        let store = &self.store;
        let nodes = store.nodes_with_agent_catalog(environment.as_str(), since_ms, after, limit);
        nodes.await
    }

    /// Code ids of all stored catalogs.
    pub(crate) async fn code_ids(&self) -> Result<Vec<String>, StoreError> {
        self.store.agent_catalog_code_ids().await
    }
}
