//! The last catalogs of each node: [`KeptCatalogs`].
//!
//! Invariants: a node has a bounded number of catalogs, the newest first; together they have a bounded
//! number of bytes, and those of the nodes that asked longest ago are given up first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalogs::OutsideFileStates;
use environments::{EnvironmentName, Sha256};
use pcp::Certname;

use crate::catalog_id::{CatalogId, FactPaths};
use crate::defaults::{CATALOGS_EACH_MAX, KEPT_BYTES_MAX};
use crate::{CompressedCatalog, StaticContent, StaticContents};

/// A catalog that was given to a node.
#[derive(Debug)]
pub(crate) struct KeptAgentCatalog {
    pub(crate) environment: EnvironmentName,
    /// Code id of the version.
    pub(crate) code_id: String,
    /// The document; `None` if there is a newer catalog of the node.
    pub(crate) body: Option<CompressedCatalog>,
    /// Contents that the document names by hash.
    pub(crate) contents: StaticContents,
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
}

#[derive(Debug, Default)]
struct NodeCatalogs {
    /// The newest first.
    catalogs: VecDeque<Arc<KeptAgentCatalog>>,
    /// Number of the last request of the node.
    requested: u64,
}

impl Default for KeptCatalogs {
    fn default() -> Self {
        Self::new(KEPT_BYTES_MAX)
    }
}

impl KeptCatalogs {
    fn new(bytes_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            bytes_max,
        }
    }

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
        let mut removed = 0;
        if let Some(former) = node.catalogs.pop_front() {
            let contents = former.contents_only();
            removed = former.bytes() - contents.bytes();
            node.catalogs.push_front(Arc::new(contents));
        }
        node.catalogs.push_front(Arc::new(catalog));
        let surplus = node
            .catalogs
            .split_off(node.catalogs.len().min(CATALOGS_EACH_MAX));
        removed += surplus.iter().map(|it| it.bytes()).sum::<usize>();
        state.bytes = state.bytes + added - removed;
        state.give_up(certname, self.bytes_max);
    }

    /// True if a catalog of the node is kept.
    pub(crate) fn has_some(&self, certname: &Certname) -> bool {
        self.lock().nodes.contains_key(certname)
    }

    /// Forgets the catalogs of a node.
    pub(crate) fn forget(&self, certname: &Certname) {
        self.lock().forget(certname);
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
    fn forget(&mut self, certname: &Certname) {
        let removed = self.nodes.remove(certname);
        let catalogs = removed.map(|node| node.catalogs).unwrap_or_default();
        self.bytes -= catalogs.iter().map(|it| it.bytes()).sum::<usize>();
    }

    /// Gives up the catalogs of other nodes while there are too many bytes.
    fn give_up(&mut self, newest: &Certname, bytes_max: usize) {
        while self.bytes > bytes_max {
            let others = self.nodes.iter().filter(|(name, _)| *name != newest);
            let oldest = others.min_by_key(|(_, node)| node.requested);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            self.forget(&oldest);
        }
    }
}

impl KeptAgentCatalog {
    /// The catalog as one that is not the newest any more: it is never given again.
    fn contents_only(&self) -> Self {
        Self {
            environment: self.environment.clone(),
            code_id: self.code_id.clone(),
            body: None,
            contents: self.contents.clone(),
            reuse: None,
        }
    }

    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        const EACH: usize = 200;
        let reuse = self.reuse.as_ref();
        let paths = reuse.map_or(0, |it| it.fact_paths.len() + it.outside_files.len());
        let body = self.body.as_ref().map_or(0, CompressedCatalog::len);
        body + EACH * (1 + self.contents.len() + paths)
    }
}

#[cfg(test)]
mod tests {

    use super::{KeptAgentCatalog, KeptCatalogs};
    use crate::defaults::CATALOGS_EACH_MAX;
    use crate::{CompressedCatalog, StaticContent, StaticContents};

    /// A text that takes about as many bytes when it is compressed.
    fn random_text(bytes: usize) -> String {
        let mut state = 1_u64;
        let letters = (0..bytes * 4 / 3).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b' ' + u8::try_from(state >> 58).unwrap())
        });
        letters.collect()
    }

    fn catalog(code_id: &str, bytes: usize, digit: char) -> KeptAgentCatalog {
        let content = StaticContent {
            module: "m".to_owned(),
            path: "f".to_owned(),
        };
        let sha256 = String::from(digit).repeat(64).parse().unwrap();
        KeptAgentCatalog {
            environment: "production".parse().unwrap(),
            code_id: code_id.to_owned(),
            body: Some(CompressedCatalog::new(&random_text(bytes))),
            contents: StaticContents::from([(sha256, content)]),
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
        let kept = KeptCatalogs::new(2_500_000);
        let names = ["a", "b", "c"].map(|name| name.parse().unwrap());
        kept.keep(&names[0], catalog("1", 1_000_000, '1'));
        kept.keep(&names[1], catalog("2", 1_000_000, '2'));
        assert!(kept.newest(&names[0]).is_some());
        kept.keep(&names[2], catalog("3", 1_000_000, '3'));
        assert!(kept.newest(&names[1]).is_none(), "it asked longest ago");
        assert!(kept.newest(&names[0]).is_some());
        let both = kept.lock().bytes;
        assert!((1_900_000..2_100_000).contains(&both), "{both}");
        // only the newest catalog of a node has a body
        kept.keep(&names[0], catalog("4", 1_000, '4'));
        let bytes = kept.lock().bytes;
        assert!((900_000..1_100_000).contains(&bytes), "{bytes}");
    }
}
