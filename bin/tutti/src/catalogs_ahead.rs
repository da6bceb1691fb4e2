//! Compiles catalogs in advance when another version of their environment is live: [`CatalogsAhead`].

use agent_catalogs::AgentCatalogs;
use async_trait::async_trait;
use code_store::code_cache::CodeCache;
use environments::EnvironmentName;

/// The engine of the catalogs of agents, as deployments notify it.
#[derive(Debug)]
pub(crate) struct CatalogsAhead(pub(crate) AgentCatalogs);

#[async_trait]
impl CodeCache for CatalogsAhead {
    async fn flush_after_switch(&self, environment: &EnvironmentName) -> Result<(), String> {
        self.0.compile_ahead(environment);
        Ok(())
    }
}
