//! The last catalogs of nodes in memory: [`KeptCatalogs`].
//!
//! Those of other nodes are in the database. Invariants: a node has a bounded number of catalogs, the newest
//! first; the catalogs of a node that are here are all that it has; together they have a bounded number of
//! bytes, and those of the nodes that asked longest ago are given up first, but none before it is written.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalogs::OutsideFileStates;
use compiler::DataQueryResult;
use environments::{EnvironmentName, Sha256};
use pcp::Certname;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::defaults::{CATALOGS_EACH_MAX, GIVE_UP_PART, KEPT_BYTES_MAX};
use crate::fingerprint::{CatalogFingerprint, ReadFact};
use crate::interned::Interned;
use crate::{CompressedCatalog, StaticContent, StaticContents};

/// A catalog of a node.
#[derive(Debug)]
pub(crate) struct KeptAgentCatalog {
    /// Position among all catalogs.
    pub(crate) sequence: i64,
    pub(crate) environment: EnvironmentName,
    /// Code id of the version.
    pub(crate) code_id: String,
    /// Contents that the document names by hash.
    pub(crate) contents: Arc<StaticContents>,
    /// `None` if there is a newer catalog of the node.
    pub(crate) newest: Option<Arc<NewestCatalog>>,
    /// True if the agent got it.
    pub(crate) given: AtomicBool,
    /// True until PuppetDB's queue has it. After a restart it counts as queued, until the day is over.
    pub(crate) awaits_forwarding: AtomicBool,
    /// Time at which it was given last, to the day, in milliseconds since 1970.
    pub(crate) used_ms: AtomicI64,
}

/// The newest catalog of a node.
#[derive(Debug, Clone)]
pub(crate) struct NewestCatalog {
    pub(crate) body: CompressedCatalog,
    /// The `catalog_uuid` of the document; `None` if it has none.
    pub(crate) uuid: Option<Box<str>>,
    pub(crate) dependencies: CatalogDependencies,
    /// Exported resources, to be kept when the agent gets the catalog; `None` if none wait for that.
    pub(crate) exported: Option<Arc<[Json]>>,
}

/// Everything on which a catalog depends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CatalogDependencies {
    pub(crate) fingerprint: CatalogFingerprint,
    /// States of files outside of the version; `None` if they cannot be compared.
    pub(crate) outside_files: Option<Arc<OutsideFileStates>>,
    /// Keys of Hiera's data that had values, which the version and the files outside of it have.
    #[serde(default)]
    pub(crate) hiera_keys: Arc<Vec<String>>,
    /// Queries of the data of other nodes, with their results.
    pub(crate) queries: Arc<Vec<DataQueryResult>>,
    /// Data that change without notice, in a sentence that begins with "it"; `None` if there are none.
    pub(crate) volatile: Option<String>,
}

/// The catalogs of the nodes that asked last.
#[derive(Debug)]
pub(crate) struct KeptCatalogs {
    state: Mutex<KeptState>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct KeptState {
    nodes: HashMap<Certname, NodeCatalogs>,
    bytes: usize,
    requests: u64,
    contents: Interned<StaticContents>,
    read_facts: Interned<Vec<ReadFact>>,
    outside_files: Interned<OutsideFileStates>,
    hiera_keys: Interned<Vec<String>>,
}

#[derive(Debug, Default)]
struct NodeCatalogs {
    /// The newest first.
    catalogs: VecDeque<Arc<KeptAgentCatalog>>,
    /// Number of the last request of the node.
    requested: u64,
    /// Changes that are not in the database yet.
    unwritten: usize,
    /// True if the newest catalog is what a request got since the server started.
    is_current: bool,
}

impl Default for KeptCatalogs {
    fn default() -> Self {
        Self::new(KEPT_BYTES_MAX)
    }
}

impl KeptCatalogs {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            bytes_max,
        }
    }

    /// The catalogs of a node, the newest first; `None` if they may be in the database.
    pub(crate) fn of_node(&self, certname: &Certname) -> Option<Vec<Arc<KeptAgentCatalog>>> {
        let mut state = self.lock();
        let requested = state.next_request();
        let node = state.nodes.get_mut(certname)?;
        node.requested = requested;
        Some(node.catalogs.iter().cloned().collect())
    }

    /// Adds the catalogs that the database has of a node, unless there are some already.
    pub(crate) fn add_stored(&self, certname: &Certname, catalogs: Vec<KeptAgentCatalog>) {
        let mut state = self.lock();
        if state.nodes.contains_key(certname) {
            return;
        }
        let catalogs = catalogs.into_iter().map(|it| Arc::new(state.share(it)));
        let catalogs = catalogs.collect();
        state.change(certname, |node| node.catalogs = catalogs);
        state.give_up(certname, self.bytes_max);
    }

    /// Keeps a catalog as the newest of its node. One that the agent did not get is replaced. `unwritten`
    /// changes of the node wait to be written.
    pub(crate) fn keep(
        &self,
        certname: &Certname,
        catalog: KeptAgentCatalog,
        unwritten: usize,
    ) -> Arc<KeptAgentCatalog> {
        self.lock()
            .keep(certname, catalog, unwritten, self.bytes_max)
    }

    /// The same for a catalog that no agent requested; `None` if the newest catalog is another one than
    /// `newest` meanwhile, which an agent has got.
    pub(crate) fn keep_ahead(
        &self,
        certname: &Certname,
        mut catalog: KeptAgentCatalog,
        (newest, unwritten): (i64, usize),
    ) -> Option<Arc<KeptAgentCatalog>> {
        let mut state = self.lock();
        let former = state.nodes.get(certname)?.catalogs.front()?;
        if former.sequence != newest {
            return None;
        }
        // a node that never asks again must not be kept for ever
        catalog.used_ms = AtomicI64::new(former.used_ms.load(Ordering::Relaxed));
        Some(state.keep(certname, catalog, unwritten, self.bytes_max))
    }

    /// Numbers of the last requests of nodes, by which those that asked longest ago come first.
    pub(crate) fn last_requests(&self) -> HashMap<Certname, u64> {
        let state = self.lock();
        let nodes = state.nodes.iter();
        nodes
            .map(|(name, node)| (name.clone(), node.requested))
            .collect()
    }

    /// Records that a request got the newest catalog of a node.
    pub(crate) fn set_current(&self, certname: &Certname) {
        if let Some(node) = self.lock().nodes.get_mut(certname) {
            node.is_current = true;
        }
    }

    /// True if a request got the newest catalog of the node since the server started.
    pub(crate) fn is_current(&self, certname: &Certname) -> bool {
        let state = self.lock();
        state.nodes.get(certname).is_some_and(|it| it.is_current)
    }

    /// Records a further change of a node that waits to be written.
    pub(crate) fn add_unwritten(&self, certname: &Certname) {
        if let Some(node) = self.lock().nodes.get_mut(certname) {
            node.unwritten += 1;
        }
    }

    /// Records that a change of a node is written, or is given up.
    pub(crate) fn remove_unwritten(&self, certname: &Certname) {
        if let Some(node) = self.lock().nodes.get_mut(certname) {
            node.unwritten = node.unwritten.saturating_sub(1);
        }
    }

    /// Forgets the catalogs of a node, those in the database too: they wait to be deleted.
    pub(crate) fn forget(&self, certname: &Certname, unwritten: usize) {
        self.lock().change(certname, |node| {
            node.catalogs.clear();
            node.is_current = false;
            node.unwritten += unwritten;
        });
    }

    /// Code ids of all catalogs, whose files agents may still request.
    pub(crate) fn code_ids(&self) -> Vec<String> {
        let state = self.lock();
        let catalogs = state.nodes.values().flat_map(|node| &node.catalogs);
        let mut ids: Vec<String> = catalogs.map(|it| it.code_id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Drops the catalogs of nodes that got none since this time, in milliseconds since 1970.
    pub(crate) fn drop_unused(&self, before_ms: i64) {
        let mut state = self.lock();
        let unused = state.nodes.iter().filter(|(_, node)| {
            let newest = node.catalogs.front();
            node.unwritten == 0
                && newest.is_some_and(|it| it.used_ms.load(Ordering::Relaxed) < before_ms)
        });
        let unused: Vec<Certname> = unused.map(|(name, _)| name.clone()).collect();
        for certname in unused {
            state.remove(&certname);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptState {
    fn next_request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Changes a node, which asks now.
    fn change(&mut self, certname: &Certname, change: impl FnOnce(&mut NodeCatalogs)) {
        let requested = self.next_request();
        let before = self.nodes.get(certname).map_or(0, NodeCatalogs::bytes);
        let node = self.nodes.entry(certname.clone()).or_default();
        node.requested = requested;
        change(node);
        self.bytes = self.bytes + node.bytes() - before;
    }

    /// Keeps a catalog as the newest of its node.
    fn keep(
        &mut self,
        certname: &Certname,
        catalog: KeptAgentCatalog,
        unwritten: usize,
        bytes_max: usize,
    ) -> Arc<KeptAgentCatalog> {
        let catalog = Arc::new(self.share(catalog));
        let is_given = catalog.is_given();
        let catalogs_max = CATALOGS_EACH_MAX + usize::from(!is_given);
        self.change(certname, |node| {
            node.unwritten += unwritten;
            node.is_current |= is_given;
            if let Some(former) = node.catalogs.pop_front()
                && former.is_given()
            {
                node.catalogs.push_front(Arc::new(former.contents_only()));
            }
            node.catalogs.push_front(Arc::clone(&catalog));
            node.catalogs.truncate(catalogs_max);
        });
        self.give_up(certname, bytes_max);
        catalog
    }

    /// The catalog with what it has in common with others.
    fn share(&mut self, mut catalog: KeptAgentCatalog) -> KeptAgentCatalog {
        const EACH: usize = 200;
        let bytes = catalog.contents.len() * EACH;
        catalog.contents = self.contents.share(catalog.contents, bytes);
        if let Some(newest) = &mut catalog.newest {
            let newest = Arc::make_mut(newest);
            let read = &mut newest.dependencies.fingerprint.read_facts;
            *read = self.read_facts.share(Arc::clone(read), read.len() * EACH);
            let keys = &mut newest.dependencies.hiera_keys;
            *keys = self.hiera_keys.share(Arc::clone(keys), keys.len() * EACH);
            if let Some(states) = &mut newest.dependencies.outside_files {
                let bytes = states.len() * EACH;
                *states = self.outside_files.share(Arc::clone(states), bytes);
            }
        }
        catalog
    }

    fn all_bytes(&self) -> usize {
        let shared = [
            self.contents.bytes(),
            self.read_facts.bytes(),
            self.outside_files.bytes(),
            self.hiera_keys.bytes(),
        ];
        self.bytes + shared.iter().sum::<usize>()
    }

    fn remove(&mut self, certname: &Certname) {
        if let Some(node) = self.nodes.remove(certname) {
            self.bytes -= node.bytes();
        }
    }

    /// Gives up the catalogs of other nodes if there are too many bytes, and some more, so that this is not
    /// done for each request.
    fn give_up(&mut self, newest: &Certname, bytes_max: usize) {
        if self.all_bytes() <= bytes_max {
            return;
        }
        let nodes = self.nodes.iter();
        let others = nodes.filter(|(name, node)| *name != newest && node.unwritten == 0);
        let mut others: Vec<_> = others
            .map(|(name, node)| (node.requested, name.clone()))
            .collect();
        others.sort_unstable_by_key(|(requested, _)| *requested);
        let enough = bytes_max - bytes_max / GIVE_UP_PART;
        for (_, certname) in others {
            if self.all_bytes() <= enough {
                return;
            }
            self.remove(&certname);
            self.contents.sweep();
            self.read_facts.sweep();
            self.outside_files.sweep();
            self.hiera_keys.sweep();
        }
    }
}

impl NodeCatalogs {
    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        const EACH: usize = 200;
        EACH + self.catalogs.iter().map(|it| it.bytes()).sum::<usize>()
    }
}

impl KeptAgentCatalog {
    /// The catalog as one that is not the newest any more: it is never given again.
    fn contents_only(&self) -> Self {
        Self {
            sequence: self.sequence,
            environment: self.environment.clone(),
            code_id: self.code_id.clone(),
            contents: Arc::clone(&self.contents),
            newest: None,
            given: AtomicBool::new(true),
            awaits_forwarding: AtomicBool::new(false),
            used_ms: AtomicI64::new(self.used_ms.load(Ordering::Relaxed)),
        }
    }

    /// True if the agent got it.
    pub(crate) fn is_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }

    /// The place of a content.
    pub(crate) fn content(&self, sha256: &Sha256) -> Option<&StaticContent> {
        self.contents.get(sha256)
    }

    /// Bytes that it takes, about, without what it has in common with others.
    fn bytes(&self) -> usize {
        const EACH: usize = 400;
        let newest = self.newest.as_ref();
        let newest = newest.map(|it| {
            let exported = it.exported.as_ref().map_or(0, |it| it.len());
            let each = (it.dependencies.queries.len() + exported) * EACH;
            it.body.len() + it.dependencies.fingerprint.bytes() + each
        });
        EACH + newest.unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "kept_catalogs_tests.rs"]
mod tests;
