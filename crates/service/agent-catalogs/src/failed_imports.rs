//! Data of other nodes with which a catalog could not be compiled. Main type: [`FailedImports`].
//!
//! Invariant: a node is here only if its last request failed while its catalog was compiled. After a restart of the server
//! nothing is known until the node requests its catalog again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use compiler::DataQueryResult;
use pcp::Certname;

use crate::defaults::FAILED_IMPORTS_MAX;

/// The queries of failed compilations, by node.
#[derive(Debug, Default)]
pub(crate) struct FailedImports(Mutex<HashMap<Certname, Arc<Vec<DataQueryResult>>>>);

// === impl FailedImports ===

impl FailedImports {
    /// Records a failure; not that of a further node beyond the limit.
    pub(crate) fn record(&self, certname: &Certname, queries: Vec<DataQueryResult>) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if nodes.len() < FAILED_IMPORTS_MAX || nodes.contains_key(certname) {
            nodes.insert(certname.clone(), Arc::new(queries));
        }
    }

    pub(crate) fn forget(&self, certname: &Certname) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.remove(certname);
    }

    /// The queries of the last request; `None` if it did not fail.
    pub(crate) fn get(&self, certname: &Certname) -> Option<Arc<Vec<DataQueryResult>>> {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.get(certname).cloned()
    }
}
