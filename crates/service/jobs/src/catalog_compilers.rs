//! The servers that compile the catalogs of nodes, as far as jobs depend on it: [`CatalogCompilers`].
//!
//! Invariant: a node is only reported as one of a puppetserver if the configuration says so; an answer cannot fail.

use std::fmt;

use async_trait::async_trait;
use environments::EnvironmentName;
use pcp::Certname;

/// Source of the compilers that the configuration chooses for nodes.
#[async_trait]
pub trait CatalogCompilers: fmt::Debug + Send + Sync {
    /// For each node, in the order asked, the puppetserver that compiles its catalogs in an environment; `None` if this
    /// server does.
    async fn puppetservers(
        &self,
        nodes: &[Certname],
        environment: &EnvironmentName,
    ) -> Vec<Option<PuppetserverChoice>>;
}

/// The choice of a puppetserver for a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PuppetserverChoice {
    /// Reason, as the configuration has it; empty if it gives none.
    pub reason: String,
}

/// A server that leaves no node to a puppetserver.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnCompiler;

#[async_trait]
impl CatalogCompilers for OwnCompiler {
    async fn puppetservers(
        &self,
        nodes: &[Certname],
        _: &EnvironmentName,
    ) -> Vec<Option<PuppetserverChoice>> {
        vec![None; nodes.len()]
    }
}
