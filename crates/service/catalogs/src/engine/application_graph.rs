//! Graphs of applications of environments.

use std::sync::Arc;

use compiler::{ApplicationGraph, ApplicationGraphRequest, CompileInterrupt};
use environments::EnvironmentName;

use super::Catalogs;
use super::compile::InterruptOnDrop;
use super::environment_cache::OpenEnvironment;
use super::error::CatalogError;
use super::queue::CompileOrigin;

impl Catalogs {
    /// The graph of the applications of an environment: of the version `code_id`, or of the live one. It is
    /// compiled once for each version, when a slot is free, and for each call if the environment has no
    /// versions. An environment without applications has an empty graph.
    ///
    /// # Errors
    /// The environment or the version does not exist, its code cannot be compiled, or the engine is busy or
    /// stops.
    pub async fn application_graph(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
        origin: &CompileOrigin,
    ) -> Result<Arc<ApplicationGraph>, CatalogError> {
        let opened = self.environment(environment, code_id).await?;
        let compiling = || async {
            let graph = self.compile_graph(&opened, origin).await?;
            Ok(Arc::new(graph))
        };
        opened.graph.get_or_try_init(compiling).await.cloned()
    }

    async fn compile_graph(
        &self,
        opened: &Arc<OpenEnvironment>,
        origin: &CompileOrigin,
    ) -> Result<ApplicationGraph, CatalogError> {
        let environment = &opened.environment;
        let slots = &self.inner.slots;
        let (slot, _) = self.wait_for_slot(slots, environment, (origin, 0)).await?;
        let interrupt = Arc::new(CompileInterrupt::default());
        let ends = InterruptOnDrop(Arc::clone(&interrupt));
        let request = ApplicationGraphRequest {
            code_id: opened.code_id.clone(),
            interrupt: Some(Arc::clone(&interrupt)),
        };
        let on_thread = Arc::clone(opened);
        let compiling = self.inner.compilations.spawn_blocking(move || {
            let graph = compiler::application_graph(&on_thread.compiler, &request);
            drop(slot);
            graph
        });
        let subject = format!("the environment {environment}");
        let limited = self.within_limits(compiling, &interrupt, (opened, &subject));
        let compiled = limited.await?;
        drop(ends);
        compiled.map_err(CatalogError::Graph)
    }
}
