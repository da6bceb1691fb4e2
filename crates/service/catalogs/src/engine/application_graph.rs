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
        let time_max = self.inner.settings.time_max;
        tokio::pin!(compiling);
        let compiled = tokio::select! {
            compiled = &mut compiling => compiled,
            () = tokio::time::sleep(time_max) => {
                let seconds = time_max.as_secs_f64();
                interrupt.interrupt(format!(
                    "the compilation took longer than {seconds} s; if the code needs more, raise \
                     catalogs.compile_timeout_s"
                ));
                compiling.await
            }
            () = self.inner.stopping.cancelled() => {
                interrupt.interrupt("the server is shutting down");
                let _ = compiling.await;
                return Err(CatalogError::Stopping);
            }
        };
        drop(ends);
        let compiled = compiled.map_err(|error| CatalogError::Defect {
            certname: format!("the environment {environment}"),
            cause: error.to_string(),
        })?;
        if let Some(code_id) = opened.code_id.as_ref().filter(|_| !opened.is_present()) {
            return Err(CatalogError::VersionRemoved {
                environment: environment.clone(),
                code_id: code_id.clone(),
            });
        }
        compiled.map_err(CatalogError::Graph)
    }
}
