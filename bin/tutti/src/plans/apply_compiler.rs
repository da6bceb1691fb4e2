//! The compiler of `apply` blocks: [`PlanCatalogs`].
//!
//! Invariant: a block is compiled from the code version of its plan, and no more compilations run than
//! there are cores.

use std::path::PathBuf;
use std::sync::Arc;

use ::catalogs::{CompilerOptions, EnvironmentOnDisk};
use ::compiler::{CompileRequest, CompilerEnvironment, DocumentForm};
use async_trait::async_trait;
use environments::{CodeReader, EnvironmentName};
use pcore::Value;
use plan_language::{ApplyCompiler, ApplyEnvironment};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

/// Compiles catalogs of the environments of this server.
#[derive(Debug)]
pub(super) struct PlanCatalogs {
    code: Arc<dyn CodeReader>,
    base_modules: Vec<PathBuf>,
    hiera_config: PathBuf,
    ruby: RubyWorkers,
    slots: Arc<Semaphore>,
}

impl PlanCatalogs {
    pub(super) fn new(
        code: Arc<dyn CodeReader>,
        base_modules: Vec<PathBuf>,
        hiera_config: PathBuf,
    ) -> Self {
        let slots = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            code,
            base_modules,
            hiera_config,
            ruby: RubyWorkers::new(RubyWorkerSettings::default()),
            slots: Arc::new(Semaphore::new(slots)),
        }
    }

    fn open_compiler(
        &self,
        environment: &str,
        code_id: Option<&str>,
    ) -> Result<CompilerEnvironment, String> {
        let name: EnvironmentName = environment.parse().map_err(|error| format!("{error}"))?;
        let version = self.code.version_of(&name, code_id);
        let version = version.map_err(|error| error.to_string())?;
        let on_disk = EnvironmentOnDisk::open(
            environment,
            version.directory(),
            &self.base_modules,
            &self.hiera_config,
        );
        let on_disk = on_disk.map_err(|error| error.to_string())?;
        Ok(on_disk.into_compiler(CompilerOptions {
            version: uuid::Uuid::new_v4().to_string(),
            ruby: Some(self.ruby.clone()),
            storeconfigs: false,
        }))
    }
}

#[async_trait]
impl ApplyCompiler for PlanCatalogs {
    async fn open(
        &self,
        environment: &str,
        code_id: Option<&str>,
    ) -> Result<Box<dyn ApplyEnvironment>, String> {
        let compiler = Arc::new(self.open_compiler(environment, code_id)?);
        Ok(Box::new(OpenPlanCatalogs {
            compiler,
            code_id: code_id.map(str::to_owned),
            slots: Arc::clone(&self.slots),
        }))
    }
}

/// An open environment.
struct OpenPlanCatalogs {
    compiler: Arc<CompilerEnvironment>,
    code_id: Option<String>,
    slots: Arc<Semaphore>,
}

#[async_trait]
impl ApplyEnvironment for OpenPlanCatalogs {
    async fn compile(&self, request: CompileRequest) -> Result<Box<RawValue>, String> {
        let _slot = self
            .slots
            .acquire()
            .await
            .map_err(|error| error.to_string())?;
        let request = CompileRequest {
            version: Value::Int(jiff::Timestamp::now().as_second()),
            code_id: self.code_id.clone(),
            catalog_uuid: uuid::Uuid::new_v4().to_string(),
            ..request
        };
        let compiler = Arc::clone(&self.compiler);
        let compiled = tokio::task::spawn_blocking(move || {
            let compiled = compiler::compile(&compiler, &request);
            let compiled = compiled.map_err(|error| error.to_string())?;
            let text = compiled.document.to_text(DocumentForm::Rich);
            let text = text.map_err(|error| error.to_string())?;
            RawValue::from_string(text).map_err(|error| error.to_string())
        });
        match compiled.await {
            Ok(catalog) => catalog,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
