//! The last catalogs of each node: [`KeptCatalogs`].
//!
//! Invariants: a node has a bounded number of catalogs, the newest first; together they have a bounded
//! number of bytes, and those of the nodes that asked longest ago are given up first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use catalogs::OutsideFileStates;
use environments::{EnvironmentName, Sha256};
use jiff::Timestamp;
use pcp::Certname;

use crate::catalog_id::FactPaths;
use crate::defaults::{CATALOGS_EACH_MAX, KEPT_BYTES_MAX};
use crate::{CatalogId, StaticContent, StaticContents};

/// A catalog that was given to a node.
#[derive(Debug)]
pub struct KeptAgentCatalog {
    pub environment: EnvironmentName,
    /// Code id of the version.
    pub code_id: String,
    /// The document as JSON.
    pub body: Bytes,
    /// Contents that the document names by hash.
    pub contents: StaticContents,
    /// Time at which it was compiled.
    pub compiled_at: Timestamp,
    pub compile_time: Duration,
    /// The condition under which it may be given again; `None` if it may not.
    pub(crate) reuse: Option<CatalogReuse>,
}

/// Everything on which a kept catalog depends.
#[derive(Debug)]
pub(crate) struct CatalogReuse {
    pub(crate) catalog_id: CatalogId,
    pub(crate) fact_paths: FactPaths,
    pub(crate) outside_files: OutsideFileStates,
}

/// The catalogs of all nodes.
#[derive(Debug, Default)]
pub(crate) struct KeptCatalogs {
    state: Mutex<KeptState>,
}

#[derive(Debug, Default)]
struct KeptState {
    nodes: HashMap<Certname, NodeCatalogs>,
    bytes: usize,
    requests: u64,
}

#[derive(Debug, Default)]
struct NodeCatalogs {
    /// The newest first.
    catalogs: VecDeque<Arc<KeptAgentCatalog>>,
    /// Number of the last request of the node.
    requested: u64,
}

impl KeptCatalogs {
    /// The newest catalog of a node.
    pub(crate) fn newest(&self, certname: &Certname) -> Option<Arc<KeptAgentCatalog>> {
        let mut state = self.lock();
        state.requests += 1;
        let requested = state.requests;
        let node = state.nodes.get_mut(certname)?;
        node.requested = requested;
        node.catalogs.front().cloned()
    }

    /// Keeps a catalog as the newest of its node.
    pub(crate) fn keep(&self, certname: &Certname, catalog: KeptAgentCatalog) {
        let mut state = self.lock();
        state.requests += 1;
        let requested = state.requests;
        let added = catalog.bytes();
        let node = state.nodes.entry(certname.clone()).or_default();
        node.requested = requested;
        node.catalogs.push_front(Arc::new(catalog));
        let surplus = node
            .catalogs
            .split_off(node.catalogs.len().min(CATALOGS_EACH_MAX));
        let removed: usize = surplus.iter().map(|it| it.bytes()).sum();
        state.bytes = state.bytes + added - removed;
        state.give_up(certname);
    }

    /// The place of a content that one of the last catalogs of a node names.
    pub(crate) fn content(
        &self,
        certname: &Certname,
        sha256: &Sha256,
    ) -> Option<(Arc<KeptAgentCatalog>, StaticContent)> {
        let state = self.lock();
        let catalogs = state.nodes.get(certname)?.catalogs.iter();
        let mut found = catalogs.filter_map(|catalog| {
            let content = catalog.contents.get(sha256)?;
            Some((Arc::clone(catalog), content.clone()))
        });
        found.next()
    }

    /// Code ids of all kept catalogs, whose files agents may still request.
    pub(crate) fn code_ids(&self) -> Vec<String> {
        let state = self.lock();
        let catalogs = state.nodes.values().flat_map(|node| &node.catalogs);
        let mut ids: Vec<String> = catalogs.map(|it| it.code_id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    fn lock(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptState {
    /// Gives up the catalogs of other nodes while there are too many bytes.
    fn give_up(&mut self, newest: &Certname) {
        while self.bytes > KEPT_BYTES_MAX {
            let others = self.nodes.iter().filter(|(name, _)| *name != newest);
            let oldest = others.min_by_key(|(_, node)| node.requested);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            let removed = self.nodes.remove(&oldest);
            let catalogs = removed.map(|node| node.catalogs).unwrap_or_default();
            self.bytes -= catalogs.iter().map(|it| it.bytes()).sum::<usize>();
        }
    }
}

impl KeptAgentCatalog {
    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        const EACH: usize = 200;
        let reuse = self.reuse.as_ref();
        let paths = reuse.map_or(0, |it| it.fact_paths.len() + it.outside_files.len());
        self.body.len() + EACH * (1 + self.contents.len() + paths)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use jiff::Timestamp;

    use super::{KeptAgentCatalog, KeptCatalogs};
    use crate::defaults::{CATALOGS_EACH_MAX, KEPT_BYTES_MAX};
    use crate::{StaticContent, StaticContents};

    fn catalog(code_id: &str, bytes: usize, digit: char) -> KeptAgentCatalog {
        let content = StaticContent {
            module: "m".to_owned(),
            path: "f".to_owned(),
        };
        let sha256 = String::from(digit).repeat(64).parse().unwrap();
        KeptAgentCatalog {
            environment: "production".parse().unwrap(),
            code_id: code_id.to_owned(),
            body: Bytes::from(vec![b' '; bytes]),
            contents: StaticContents::from([(sha256, content)]),
            compiled_at: Timestamp::UNIX_EPOCH,
            compile_time: Duration::ZERO,
            reuse: None,
        }
    }

    #[test]
    fn a_node_has_its_last_catalogs_and_reads_the_contents_of_these_alone() {
        let kept = KeptCatalogs::default();
        let (node, other) = ("a".parse().unwrap(), "b".parse().unwrap());
        for number in 0..=CATALOGS_EACH_MAX {
            let digit = char::from_digit(u32::try_from(number).unwrap(), 16).unwrap();
            kept.keep(&node, catalog(&number.to_string(), 10, digit));
        }
        let newest = kept.newest(&node).unwrap();
        assert_eq!(newest.code_id, CATALOGS_EACH_MAX.to_string());
        let has = |node, digit: char| {
            let sha256 = String::from(digit).repeat(64).parse().unwrap();
            kept.content(node, &sha256).is_some()
        };
        assert!(!has(&node, '0'), "given up");
        assert!(has(&node, '1'));
        assert!(!has(&other, '1'), "another node");
        assert_eq!(kept.code_ids().len(), CATALOGS_EACH_MAX);
    }

    #[test]
    fn the_bytes_of_all_catalogs_are_bounded() {
        let kept = KeptCatalogs::default();
        let large = KEPT_BYTES_MAX / 2 - 10_000;
        let names = ["a", "b", "c"].map(|name| name.parse().unwrap());
        kept.keep(&names[0], catalog("1", large, '1'));
        kept.keep(&names[1], catalog("2", large, '2'));
        assert!(kept.newest(&names[0]).is_some());
        kept.keep(&names[2], catalog("3", large, '3'));
        assert!(kept.newest(&names[1]).is_none(), "it asked longest ago");
        assert!(kept.newest(&names[0]).is_some());
        assert_eq!(kept.lock().bytes, 2 * (large + 400));
    }
}
