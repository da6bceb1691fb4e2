//! Every node in memory: [`Fleet`], of which a [`Snapshot`] is one moment.
//!
//! The rule: a snapshot never changes, and taking one costs nothing; the next change copies the
//! table (not what is in it) only while somebody holds a snapshot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pcp::Certname;

use crate::held::Pool;
use crate::{HeldRecord, NodeRecord, Report};

/// A node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Whether an agent is connected.
    pub connected: bool,
    /// What it told; `None`: nothing yet.
    pub record: Option<Arc<HeldRecord>>,
    /// Its last reports, the newest first, without metrics.
    pub reports: Vec<Arc<Report>>,
}

/// All nodes at one moment, by certname.
#[derive(Clone, Debug)]
pub struct Snapshot {
    nodes: Arc<BTreeMap<Certname, Node>>,
}

/// All nodes.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    nodes: Mutex<Arc<BTreeMap<Certname, Node>>>,
    pool: Mutex<Pool>,
}

// === impl Fleet ===

impl Fleet {
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            nodes: Arc::clone(&self.lock()),
        }
    }

    /// A record as nodes have it: small, and sharing what others tell too.
    pub(crate) fn hold(&self, record: &NodeRecord) -> HeldRecord {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        HeldRecord::new(&mut pool, record)
    }

    /// Changes a node, which is made if it is new. `limit` is for new ones: `None` is returned when
    /// there are so many already.
    pub(crate) fn change<T>(
        &self,
        certname: &Certname,
        limit: usize,
        change: impl FnOnce(&mut Node) -> T,
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<BTreeMap<Certname, Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// The node of this name.
    pub fn get(&self, certname: &Certname) -> Option<&Node> {
        self.nodes.get(certname)
    }

    /// Every node, by certname.
    pub fn iter(&self) -> impl Iterator<Item = (&Certname, &Node)> {
        self.nodes.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
