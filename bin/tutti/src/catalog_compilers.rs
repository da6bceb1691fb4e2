//! The compilers of nodes' catalogs as jobs see them: [`ConfiguredCompilers`].
//!
//! Invariant: the answer is that of the engine of catalogs, which also decides when the node requests its catalog.

use ::catalogs::{CatalogCompiler, Catalogs};
use async_trait::async_trait;
use environments::EnvironmentName;
use futures_util::{StreamExt as _, stream};
use jobs::defaults::LOOK_UPS;
use jobs::{CatalogCompilers, PuppetserverChoice};
use pcp::Certname;

/// Compilers as the configuration chooses them.
#[derive(Debug)]
pub(crate) struct ConfiguredCompilers(pub(crate) Catalogs);

#[async_trait]
impl CatalogCompilers for ConfiguredCompilers {
    async fn puppetservers(
        &self,
        nodes: &[Certname],
        environment: &EnvironmentName,
    ) -> Vec<Option<PuppetserverChoice>> {
        if !self.0.choices().has_puppetserver() {
            return vec![None; nodes.len()];
        }
        let choose = |node: Certname| async move {
            let chosen = self.0.compiler_of_certname(&node, environment).await;
            let is_puppetserver = chosen.compiler == CatalogCompiler::Puppetserver;
            is_puppetserver.then_some(PuppetserverChoice {
                reason: chosen.reason,
            })
        };
        let chosen = stream::iter(nodes.to_vec()).map(choose).buffered(LOOK_UPS);
        chosen.collect().await
    }
}
