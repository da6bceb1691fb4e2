//! Graphs of applications of environments.

use std::sync::Arc;

use compiler::{ApplicationGraph, ApplicationGraphRequest, CompileInterrupt};
use environments::EnvironmentName;
use pcp::Certname;

use super::Catalogs;
use super::compile::InterruptOnDrop;
use super::environment_cache::OpenEnvironment;
use super::error::CatalogError;
use super::queue::CompileOrigin;
use crate::capabilities::ReadCapabilitiesError;

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
        self.graph_of(&opened, origin).await
    }

    /// As [`application_graph`](Self::application_graph); `None` if the environment has not enabled applications,
    /// which takes no slot.
    ///
    /// # Errors
    /// As there.
    pub async fn enabled_application_graph(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
        origin: &CompileOrigin,
    ) -> Result<Option<Arc<ApplicationGraph>>, CatalogError> {
        let opened = self.environment(environment, code_id).await?;
        if !opened.compiler.has_applications() {
            return Ok(None);
        }
        self.graph_of(&opened, origin).await.map(Some)
    }

    /// Those of the capabilities, given by references such as `Sql[app1]`, that the node has not produced in the last
    /// catalog of this environment that it got. Empty if this server knows no capabilities.
    ///
    /// # Errors
    /// The database or PuppetDB cannot be read.
    pub async fn missing_capabilities(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        capabilities: &[String],
    ) -> Result<Vec<String>, ReadCapabilitiesError> {
        let sources = &self.inner.settings.capabilities;
        sources.missing(environment, producer, capabilities).await
    }

    /// The same after the run with this `transaction_uuid`: the catalog of another server is waited for.
    ///
    /// # Errors
    /// The database or PuppetDB cannot be read.
    pub async fn missing_capabilities_after_run(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        (capabilities, transaction_uuid): (&[String], &str),
    ) -> Result<Vec<String>, ReadCapabilitiesError> {
        let sources = &self.inner.settings.capabilities;
        let wanted = (capabilities, transaction_uuid);
        sources
            .missing_after_run(environment, producer, wanted)
            .await
    }

    async fn graph_of(
        &self,
        opened: &Arc<OpenEnvironment>,
        origin: &CompileOrigin,
    ) -> Result<Arc<ApplicationGraph>, CatalogError> {
        let compiling = || async {
            let graph = self.compile_graph(opened, origin).await?;
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
