//! A store of capabilities in memory: [`MemoryCapabilities`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use compiler::{
    CapabilitySearch, CapabilitySearchError, ProducedCapabilities, ProducedCapability,
    StoredCapability,
};

/// The capabilities of all nodes.
#[derive(Debug, Default)]
pub(crate) struct MemoryCapabilities {
    /// Capabilities by environment and certname, of the last catalog of each node.
    nodes: Mutex<BTreeMap<(String, String), NodeCapabilities>>,
}

#[derive(Debug)]
struct NodeCapabilities {
    code_id: Option<String>,
    produced: Vec<ProducedCapability>,
}

impl MemoryCapabilities {
    /// Replaces the capabilities of a node.
    pub(crate) fn replace(
        &self,
        (environment, certname): (&str, &str),
        code_id: Option<&str>,
        produced: Vec<ProducedCapability>,
    ) {
        let key = (environment.to_owned(), certname.to_owned());
        let node = NodeCapabilities {
            code_id: code_id.map(str::to_owned),
            produced,
        };
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.insert(key, node);
    }
}

impl ProducedCapabilities for MemoryCapabilities {
    fn find(
        &self,
        search: &CapabilitySearch<'_>,
    ) -> Result<Vec<StoredCapability>, CapabilitySearchError> {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let of_environment = nodes
            .iter()
            .filter(|((environment, _), _)| environment == search.environment);
        let found = of_environment.filter_map(|((_, certname), node)| {
            let mut produced = node.produced.iter();
            let capability = produced.find(|capability| {
                *capability.type_name == *search.type_name && *capability.title == *search.title
            })?;
            Some(StoredCapability {
                certname: certname.clone(),
                code_id: node.code_id.clone(),
                attributes: capability.attributes.clone(),
            })
        });
        Ok(found.collect())
    }
}
