//! Capabilities of applications in the database of this server: [`EmbeddedCapabilities`].
//!
//! Invariants: the capabilities of a node are those of the newest catalog that was given to it; their values
//! are sealed in the database, and read only for a catalog that consumes them; a catalog without capabilities
//! of a node that never had some costs no statement.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compiler::{CapabilitySearch, ProducedCapability, StoredCapability};
use environments::EnvironmentName;
use pcore::{Hash, Value};
use pcp::Certname;
use pki::seal::SealKey;
use serde_json::Value as Json;
use store::{CapabilityOfNodeRow, ProducedCapabilityRow, Store, StoreError, now_ms};
use tokio::runtime::Handle;
use zeroize::Zeroizing;

use crate::defaults::{
    CAPABILITIES_OF_NODE_MAX, CAPABILITY_BYTES_OF_NODE_MAX, CAPABILITY_PRODUCERS_MAX,
};
use crate::exports::{KeepOrder, KeepTurn};
use crate::waiting::wait_for;

use super::stored_value::{read_value, stored_text};

/// The capabilities of all nodes. Deleting a node from the inventory deletes its capabilities.
#[derive(Debug, Clone)]
pub struct EmbeddedCapabilities {
    store: Store,
    seal: Arc<SealKey>,
    runtime: Handle,
    order: Arc<KeepOrder>,
    /// Certnames of all nodes that have capabilities in the database, and of some that had: a node that was
    /// deleted stays until its next catalog. One server process writes to a database.
    producers: Arc<Mutex<HashSet<String>>>,
    known_nodes_only: bool,
}

/// A capability without its values.
#[derive(Debug)]
pub(super) struct KeptCapability {
    /// Reference such as `Sql[app1]`.
    pub reference: String,
    /// Milliseconds since 1970 at which its catalog was compiled; `None` if that was an older release.
    pub produced_ms: Option<i64>,
}

/// A capability that this server keeps, with its values.
#[derive(Debug)]
pub(super) struct OwnCapability {
    pub capability: StoredCapability,
    /// Milliseconds since 1970 at which its catalog was compiled; `None` if that was an older release.
    pub produced_ms: Option<i64>,
}

/// Capabilities that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepCapabilitiesError {
    #[error(
        "{certname} produces {number} capabilities, and a node may produce {CAPABILITIES_OF_NODE_MAX}: map \
         components of the application to other nodes"
    )]
    TooMany { certname: String, number: usize },
    #[error(
        "the capabilities of {certname} have {bytes} bytes, and those of a node may have \
         {CAPABILITY_BYTES_OF_NODE_MAX}: produce smaller values"
    )]
    TooLarge { certname: String, bytes: usize },
    #[error(
        "the attribute {attribute} of {capability}, which {certname} produces, has a value that other nodes cannot \
         read: {cause}; produce a value of one of Puppet's own types"
    )]
    Value {
        certname: String,
        capability: String,
        attribute: String,
        cause: String,
    },
    #[error(
        "the capabilities of {certname} are not kept, because the node was deleted while it was compiled"
    )]
    NodeDeleted { certname: String },
    #[error("the capabilities of {certname} cannot be stored")]
    Store {
        certname: String,
        source: StoreError,
    },
}

impl EmbeddedCapabilities {
    /// The capabilities in `store`, which is read in `runtime`. `seal` encrypts their values. With
    /// `known_nodes_only` only nodes of the inventory in the same store have capabilities.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn open(
        store: Store,
        seal: Arc<SealKey>,
        runtime: Handle,
        known_nodes_only: bool,
    ) -> Result<Self, StoreError> {
        let producers = store.capability_producers().await?;
        Ok(Self {
            store,
            seal,
            runtime,
            order: Arc::default(),
            producers: Arc::new(Mutex::new(producers.into_iter().collect())),
            known_nodes_only,
        })
    }

    /// Begins a catalog whose capabilities will be kept. Nothing may have been read for it yet.
    #[must_use]
    pub fn begin(&self, certname: &str) -> KeepTurn {
        self.order.begin(certname)
    }

    /// Replaces all capabilities of a node with those of its catalog, unless those of a newer catalog are kept
    /// already.
    ///
    /// # Errors
    /// The capabilities exceed a limit, or cannot be stored, and the former ones remain; or the node was deleted.
    pub async fn keep(
        &self,
        turn: KeepTurn,
        environment: &str,
        code_id: Option<&str>,
        produced: &[ProducedCapability],
    ) -> Result<(), KeepCapabilitiesError> {
        let certname = turn.certname().to_owned();
        let rows = self.rows(&certname, (environment, code_id), produced)?;
        let failure = |source| KeepCapabilitiesError::Store {
            certname: certname.clone(),
            source,
        };
        let Some(_no_other_writes) = turn.take().await else {
            return Ok(());
        };
        // most nodes produce nothing, and never did
        if rows.is_empty() && !self.producers().contains(&certname) {
            return Ok(());
        }
        // first, because a write that fails may have been done
        self.producers().insert(certname.clone());
        let store = &self.store;
        let put = store.put_produced_capabilities(&certname, &rows, self.known_nodes_only);
        let is_known = put.await.map_err(failure)?;
        if rows.is_empty() || !is_known {
            self.producers().remove(&certname);
        }
        match is_known {
            true => Ok(()),
            false => Err(KeepCapabilitiesError::NodeDeleted { certname }),
        }
    }

    fn producers(&self) -> MutexGuard<'_, HashSet<String>> {
        let producers = self.producers.lock();
        producers.unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(
        &self,
        certname: &str,
        (environment, code_id): (&str, Option<&str>),
        produced: &[ProducedCapability],
    ) -> Result<Vec<ProducedCapabilityRow>, KeepCapabilitiesError> {
        let certname = certname.to_owned();
        if produced.len() > CAPABILITIES_OF_NODE_MAX {
            let number = produced.len();
            return Err(KeepCapabilitiesError::TooMany { certname, number });
        }
        let produced_ms = now_ms();
        let mut bytes = 0;
        let mut rows = Vec::with_capacity(produced.len());
        for capability in produced {
            let text = stored_text(&capability.attributes);
            let text = text.map_err(|(attribute, error)| KeepCapabilitiesError::Value {
                certname: certname.clone(),
                capability: format!("{}[{}]", capability.type_name, capability.title),
                attribute,
                cause: error.to_string(),
            })?;
            bytes += text.len();
            rows.push(ProducedCapabilityRow {
                environment: environment.to_owned(),
                capability_type: capability.type_name.to_string(),
                title: capability.title.to_string(),
                certname: certname.clone(),
                code_id: code_id.map(str::to_owned),
                attributes: self.seal.seal(text.as_bytes()),
                produced_ms: Some(produced_ms),
            });
        }
        match bytes > CAPABILITY_BYTES_OF_NODE_MAX {
            true => Err(KeepCapabilitiesError::TooLarge { certname, bytes }),
            false => Ok(rows),
        }
    }

    /// The capabilities that the last catalog of a node in this environment produces.
    pub(super) async fn produced_by(
        &self,
        producer: &Certname,
        environment: &EnvironmentName,
    ) -> Result<Vec<KeptCapability>, StoreError> {
        let store = &self.store;
        let reading = store.capabilities_of_node(producer.as_str(), environment.as_str());
        let kept = |row: CapabilityOfNodeRow| KeptCapability {
            reference: format!("{}[{}]", row.capability_type, row.title),
            produced_ms: row.produced_ms,
        };
        Ok(reading.await?.into_iter().map(kept).collect())
    }

    /// The capabilities that a search finds, those of the version `code_id` first.
    pub(super) fn find(
        &self,
        search: &CapabilitySearch<'_>,
        code_id: Option<String>,
    ) -> Result<Vec<OwnCapability>, String> {
        let store = self.store.clone();
        let environment = search.environment.to_owned();
        let (type_name, title) = (search.type_name.to_owned(), search.title.to_owned());
        let rows = wait_for(&self.runtime, search.interrupt, async move {
            let limit = CAPABILITY_PRODUCERS_MAX;
            let code_id = code_id.as_deref();
            store
                .produced_capabilities(&environment, &type_name, &title, code_id, limit)
                .await
        });
        let rows = rows.map_err(|end| end.to_string())?;
        let rows = rows.map_err(|error| error.to_string())?;
        rows.into_iter().map(|row| self.read(row)).collect()
    }

    fn read(&self, row: ProducedCapabilityRow) -> Result<OwnCapability, String> {
        let damaged = |cause: String| {
            format!(
                "{}[{}] of {} is damaged: {cause}",
                row.capability_type, row.title, row.certname
            )
        };
        let text = self.seal.open(&row.attributes);
        let text = Zeroizing::new(text.map_err(|error| damaged(error.to_string()))?);
        let json: Json =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match read_value(&json) {
            Ok(Value::Hash(attributes)) => Ok(OwnCapability {
                capability: StoredCapability {
                    certname: row.certname,
                    code_id: row.code_id,
                    attributes: Hash::clone(&attributes),
                },
                produced_ms: row.produced_ms,
            }),
            Ok(_) => Err(damaged("its attributes are no hash".to_owned())),
            Err(error) => Err(damaged(error.to_string())),
        }
    }
}
