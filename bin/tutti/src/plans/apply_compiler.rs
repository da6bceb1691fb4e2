//! The compiler of `apply` blocks: [`PlanCatalogs`].
//!
//! Invariant: a block is compiled from the code version of its plan, within the limits of all
//! compilations of the server.

use std::sync::Arc;

use ::catalogs::{Catalogs, CompileCaller, CompileOrigin, CompilePriority, OpenEnvironment};
use ::compiler::{CatalogDocument, CompileRequest, DocumentForm};
use async_trait::async_trait;
use environments::EnvironmentName;
use plan_language::{ApplyCompiler, ApplyEnvironment, PlanOwner};
use serde_json::value::RawValue;

/// Compiles blocks with the engine of the server.
#[derive(Debug)]
pub(super) struct PlanCatalogs(pub(super) Catalogs);

#[async_trait]
impl ApplyCompiler for PlanCatalogs {
    async fn open(
        &self,
        owner: &PlanOwner,
        environment: &str,
        code_id: Option<&str>,
    ) -> Result<Box<dyn ApplyEnvironment>, String> {
        let name: EnvironmentName = environment.parse().map_err(|error| format!("{error}"))?;
        let opened = self.0.environment(&name, code_id).await;
        Ok(Box::new(OpenPlanCatalogs {
            catalogs: self.0.clone(),
            opened: opened.map_err(|error| error.to_string())?,
            origin: CompileOrigin {
                caller: CompileCaller::PlansOf(owner.id.clone()),
                priority: CompilePriority::Foreground,
            },
        }))
    }
}

/// An open environment.
struct OpenPlanCatalogs {
    catalogs: Catalogs,
    opened: Arc<OpenEnvironment>,
    origin: CompileOrigin,
}

#[async_trait]
impl ApplyEnvironment for OpenPlanCatalogs {
    async fn compile(&self, request: CompileRequest) -> Result<Box<RawValue>, String> {
        let write = |document: &mut CatalogDocument| {
            let text = document.to_text(DocumentForm::Rich)?;
            Ok(RawValue::from_string(text))
        };
        let opened = Arc::clone(&self.opened);
        let catalogs = &self.catalogs;
        let compiled = catalogs.compile_in(opened, request, &self.origin, write);
        let compiled = compiled.await.map_err(|error| error.to_string())?;
        compiled.catalog.map_err(|error| error.to_string())
    }
}
