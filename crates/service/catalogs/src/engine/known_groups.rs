//! The node groups of nodes, as their last requests for a catalog had them: [`KnownGroups`].
//!
//! A run of Puppet requests plugins and files too, without facts. Invariant: all requests of a node have the groups
//! of its last request for a catalog, so that the compiler of a run changes with its catalog only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pcp::Certname;

use crate::defaults::KNOWN_GROUPS_MAX;

/// Names of the groups by node.
#[derive(Debug, Default)]
pub(super) struct KnownGroups {
    nodes: Mutex<HashMap<Certname, Arc<[String]>>>,
}

impl KnownGroups {
    pub(super) fn set(&self, certname: &Certname, groups: &[String]) {
        let mut nodes = self.lock();
        // read from the inventory again
        if nodes.len() >= KNOWN_GROUPS_MAX && !nodes.contains_key(certname) {
            nodes.clear();
        }
        if nodes.get(certname).is_none_or(|known| **known != *groups) {
            nodes.insert(certname.clone(), groups.into());
        }
    }

    pub(super) fn get(&self, certname: &Certname) -> Option<Arc<[String]>> {
        self.lock().get(certname).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Certname, Arc<[String]>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
