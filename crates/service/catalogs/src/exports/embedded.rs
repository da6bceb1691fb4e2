//! Exported resources in the database of this server: [`EmbeddedExports`].
//!
//! Invariants: the resources of a node are those of the newest catalog that was compiled for it; its
//! sensitive values are sealed in the database.

use std::sync::Arc;

use compiler::{ExportSearch, ExportSearchError, ExportedResource, ExportedResources};
use pki::seal::SealKey;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use store::{
    ExportedPage, ExportedPageBounds, ExportedTypeRow, ExportingNodeRow, Store, StoreError,
};
use tokio::runtime::Handle;
use zeroize::Zeroizing;

use super::keep_order::{KeepOrder, KeepTurn};
use super::stored_exports::{StoredType, read_stored, stored_types};
use crate::defaults::{
    EXPORTED_BYTES_MAX, EXPORTED_BYTES_OF_NODE_MAX, EXPORTED_PAGE_BYTES, EXPORTED_RESOURCES_MAX,
    EXPORTING_NODES_PAGE, EXPORTS_OF_NODE_MAX,
};
use crate::waiting::wait_for;

/// The exported resources of all nodes, for sites without a PuppetDB. Deleting a node from the embedded
/// inventory deletes its resources.
#[derive(Debug, Clone)]
pub struct EmbeddedExports {
    store: Store,
    seal: Arc<SealKey>,
    runtime: Handle,
    order: Arc<KeepOrder>,
}

/// The result of keeping the exported resources of a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptExports {
    /// They replaced those of the catalog before.
    Written,
    /// They are those of the catalog before; nothing was written.
    Unchanged,
    /// Those of a catalog that was begun later are kept.
    Superseded,
}

/// Exported resources that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepExportsError {
    #[error(
        "{certname} exports {number} resources, and a node may export {EXPORTS_OF_NODE_MAX}: export \
         less"
    )]
    TooMany { certname: String, number: usize },
    #[error(
        "the exported resources of {certname} have {bytes} bytes, and those of a node may have \
         {EXPORTED_BYTES_OF_NODE_MAX}: export less"
    )]
    TooLarge { certname: String, bytes: usize },
    #[error("an exported resource of {certname} is none of a catalog: {defect}")]
    Malformed {
        certname: String,
        defect: &'static str,
    },
    #[error(
        "the exported resources of {certname} are not kept, because the node was deleted while it was compiled"
    )]
    NodeDeleted { certname: String },
    #[error("the exported resources of {certname} cannot be stored")]
    Store {
        certname: String,
        source: StoreError,
    },
}

impl EmbeddedExports {
    /// The resources in `store`, which is read in `runtime`. `seal` encrypts sensitive values.
    #[must_use]
    pub fn new(store: Store, seal: Arc<SealKey>, runtime: Handle) -> Self {
        Self {
            store,
            seal,
            runtime,
            order: Arc::default(),
        }
    }

    /// Begins a catalog whose exported resources will be kept. Nothing may have been read for it yet.
    #[must_use]
    pub fn begin(&self, certname: &str) -> KeepTurn {
        self.order.begin(certname)
    }

    /// Replaces all exported resources of a node with those of its catalog:
    /// [`exported_resources`](compiler::CatalogDocument::exported_resources) in plain form.
    ///
    /// A write that has begun must not be given up, or a newer catalog could be compared with an old state:
    /// call this in a task of its own.
    ///
    /// # Errors
    /// The resources exceed a limit, or cannot be stored, and the former ones remain; or the node was
    /// deleted.
    pub async fn keep_exports(
        &self,
        turn: KeepTurn,
        environment: &str,
        code_id: Option<&str>,
        resources: &[Json],
    ) -> Result<KeptExports, KeepExportsError> {
        let certname = turn.certname().to_owned();
        let types = self.rows(&certname, resources)?;
        let node = ExportingNodeRow {
            certname: certname.clone(),
            environment: environment.to_owned(),
            code_id: code_id.map(str::to_owned),
            digest: digest(&types),
        };
        let failure = |source| KeepExportsError::Store {
            certname: certname.clone(),
            source,
        };
        let Some(_no_other_writes) = turn.take().await else {
            return Ok(KeptExports::Superseded);
        };
        let known = self.store.exporting_node(&certname).await;
        let is_unchanged = match known.map_err(failure)? {
            Some(known) => known == node && node.digest.is_some(),
            None => types.is_empty(),
        };
        if is_unchanged {
            return Ok(KeptExports::Unchanged);
        }
        let put = self.store.put_exported_resources(&node, &types).await;
        match put.map_err(failure)? {
            true => Ok(KeptExports::Written),
            false => Err(KeepExportsError::NodeDeleted { certname }),
        }
    }

    fn rows(
        &self,
        certname: &str,
        resources: &[Json],
    ) -> Result<Vec<ExportedTypeRow>, KeepExportsError> {
        let certname = certname.to_owned();
        if resources.len() > EXPORTS_OF_NODE_MAX {
            let number = resources.len();
            return Err(KeepExportsError::TooMany { certname, number });
        }
        let types = match stored_types(resources) {
            Ok(types) => types,
            Err(defect) => return Err(KeepExportsError::Malformed { certname, defect }),
        };
        let rows: Vec<ExportedTypeRow> = types.iter().map(|it| self.row(&certname, it)).collect();
        let bytes = rows.iter().map(row_bytes).sum();
        if bytes > EXPORTED_BYTES_OF_NODE_MAX {
            return Err(KeepExportsError::TooLarge { certname, bytes });
        }
        Ok(rows)
    }

    fn row(&self, certname: &str, stored: &StoredType) -> ExportedTypeRow {
        let secrets = stored.secrets_text();
        ExportedTypeRow {
            certname: certname.to_owned(),
            resource_type: stored.resource_type.clone(),
            resources: stored.resources_text(),
            sealed: secrets.map(|secrets| self.seal.seal(secrets.as_bytes())),
        }
    }

    fn find(&self, search: &ExportSearch<'_>) -> Result<Vec<ExportedResource>, String> {
        let mut found = Vec::new();
        let mut bytes = 0;
        let mut after = Some(String::new());
        while let Some(previous) = after {
            // Between pages, since those that are in memory already come without a wait.
            if let Some(reason) = search.interrupt.and_then(|it| it.reason()) {
                return Err(reason.to_owned());
            }
            let page = self.page(search, previous)?;
            after = page.last;
            let others = page.rows.iter();
            for row in others.filter(|row| row.certname != search.certname) {
                let before = found.len();
                let resources = self.resources(row)?.into_iter();
                let query = search.query;
                let is_found =
                    |it: &ExportedResource| query.is_none_or(|query| it.is_accepted_by(query));
                found.extend(resources.filter(is_found));
                if found.len() > before {
                    bytes += row_bytes(row);
                }
                if found.len() > EXPORTED_RESOURCES_MAX || bytes > EXPORTED_BYTES_MAX {
                    return Err(format!(
                        "more than {EXPORTED_RESOURCES_MAX} resources of the type {}, or than {} MiB, are \
                         found; give the collector a narrower query",
                        search.type_name,
                        EXPORTED_BYTES_MAX >> 20
                    ));
                }
            }
        }
        Ok(found)
    }

    fn page(&self, search: &ExportSearch<'_>, after: String) -> Result<ExportedPage, String> {
        let store = self.store.clone();
        let type_name = search.type_name.to_owned();
        let page = wait_for(&self.runtime, search.interrupt, async move {
            let bounds = ExportedPageBounds {
                nodes: EXPORTING_NODES_PAGE,
                bytes: EXPORTED_PAGE_BYTES,
            };
            store.exported_resources(&type_name, &after, bounds).await
        });
        let page = page.map_err(|end| end.to_string())?;
        page.map_err(|error| error.to_string())
    }

    fn resources(&self, row: &ExportedTypeRow) -> Result<Vec<ExportedResource>, String> {
        let place = |cause: String| format!("resources of {}: {cause}", row.certname);
        let secrets = row.sealed.as_deref().map(|sealed| self.seal.open(sealed));
        let secrets = secrets
            .transpose()
            .map_err(|error| place(error.to_string()))?;
        let secrets = secrets.map(Zeroizing::new);
        let secrets = secrets.as_deref().map(|bytes| str::from_utf8(bytes));
        let secrets = secrets
            .transpose()
            .map_err(|error| place(error.to_string()))?;
        read_stored(&row.certname, &row.resources, secrets).map_err(place)
    }
}

impl ExportedResources for EmbeddedExports {
    fn search(
        &self,
        search: &ExportSearch<'_>,
    ) -> Result<Vec<ExportedResource>, ExportSearchError> {
        self.find(search).map_err(|cause| {
            ExportSearchError(format!(
                "Could not retrieve resources from the database of this server: {cause}"
            ))
        })
    }
}

fn row_bytes(row: &ExportedTypeRow) -> usize {
    row.resources.len() + row.sealed.as_ref().map_or(0, Vec::len)
}

/// Digest of resources; `None` if some values are secrets, which a digest would help to guess.
fn digest(types: &[ExportedTypeRow]) -> Option<String> {
    let mut hasher = Sha256::new();
    for row in types {
        if row.sealed.is_some() {
            return None;
        }
        for text in [&row.resource_type, &row.resources] {
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
    }
    let digest = hasher.finalize();
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
