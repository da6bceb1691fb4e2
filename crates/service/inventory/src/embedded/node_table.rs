//! All nodes in memory: [`NodeTable`], with immutable snapshots: [`InventorySnapshot`].
//!
//! Invariant: a snapshot never changes, and taking one costs nothing; the next change copies the
//! table (but not the records in it) only while a snapshot is held.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pcp::Certname;

use crate::compact_facts::ValuePool;
use crate::{CompactNodeRecord, NodeRecord, PuppetReport};

/// A node with its connection state, facts and reports.
#[derive(Clone, Debug, Default)]
pub struct InventoryNode {
    /// `true` while an agent is connected.
    pub connected: bool,
    /// Facts of the node; `None` if it has not sent any yet.
    pub record: Option<Arc<CompactNodeRecord>>,
    /// Recent reports, newest first, without metrics.
    pub reports: Vec<Arc<PuppetReport>>,
}

/// All nodes at one moment, by certname.
#[derive(Clone, Debug)]
pub struct InventorySnapshot {
    nodes: Arc<BTreeMap<Certname, InventoryNode>>,
}

/// The current table of nodes, and the pool of their shared values.
#[derive(Debug, Default)]
pub(crate) struct NodeTable {
    nodes: Mutex<Arc<BTreeMap<Certname, InventoryNode>>>,
    pool: Mutex<ValuePool>,
}

// === impl NodeTable ===

impl NodeTable {
    pub(crate) fn snapshot(&self) -> InventorySnapshot {
        InventorySnapshot {
            nodes: Arc::clone(&self.lock()),
        }
    }

    /// What `read` takes from a node; `None` if the node is unknown. Changes wait meanwhile, but none copies the table,
    /// as it would for a snapshot.
    pub(crate) fn read_node<T>(
        &self,
        certname: &Certname,
        read: impl FnOnce(&InventoryNode) -> T,
    ) -> Option<T> {
        self.lock().get(certname).map(read)
    }

    /// True if there are fewer than `limit` nodes, or the node is one of them.
    pub(crate) fn has_room(&self, certname: &Certname, limit: usize) -> bool {
        let nodes = self.lock();
        nodes.len() < limit || nodes.contains_key(certname)
    }

    /// Converts a record into its compact form, which shares equal values with other nodes.
    pub(crate) fn to_compact(&self, record: &NodeRecord) -> CompactNodeRecord {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        CompactNodeRecord::new(&mut pool, record)
    }

    /// Changes a node, and creates it if it is new. `limit` applies to new nodes: `None` is
    /// returned if there are that many already.
    pub(crate) fn update_node<T>(
        &self,
        certname: &Certname,
        limit: usize,
        change: impl FnOnce(&mut InventoryNode) -> T,
    ) -> Option<T> {
        let mut nodes = self.lock();
        if nodes.len() >= limit && !nodes.contains_key(certname) {
            return None;
        }
        let node = Arc::make_mut(&mut nodes).entry(certname.clone());
        Some(change(node.or_default()))
    }

    pub(crate) fn remove(&self, certname: &Certname) {
        let mut nodes = self.lock();
        if nodes.contains_key(certname) {
            Arc::make_mut(&mut nodes).remove(certname);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<BTreeMap<Certname, InventoryNode>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl InventorySnapshot ===

impl InventorySnapshot {
    /// The node with this certname.
    pub fn get(&self, certname: &Certname) -> Option<&InventoryNode> {
        self.nodes.get(certname)
    }

    /// All nodes, sorted by certname.
    pub fn iter(&self) -> impl Iterator<Item = (&Certname, &InventoryNode)> {
        self.nodes.iter()
    }

    /// Number of nodes in the snapshot.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns `true` if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
