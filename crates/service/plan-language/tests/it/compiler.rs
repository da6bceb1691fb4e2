//! The compiler of `apply` blocks for the tests, without Ruby.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use catalogs::{CompilerOptions, EnvironmentOnDisk};
use compiler::{CompileRequest, CompilerEnvironment, DocumentForm};
use environments::CodeReader;
use plan_language::{ApplyCompiler, ApplyEnvironment, PlanOwner};
use serde_json::value::RawValue;

#[derive(Debug)]
pub(crate) struct TestCompiler {
    pub(crate) code: Arc<dyn CodeReader>,
}

struct TestEnvironment(CompilerEnvironment);

#[async_trait]
impl ApplyCompiler for TestCompiler {
    async fn open(
        &self,
        _: &PlanOwner,
        environment: &str,
        code_id: Option<&str>,
    ) -> Result<Box<dyn ApplyEnvironment>, String> {
        let name = environment.parse().unwrap();
        let version = self.code.version_of(&name, code_id);
        let version = version.map_err(|error| error.to_string())?;
        let missing = Path::new("/no/hiera.yaml");
        let on_disk = EnvironmentOnDisk::open(environment, version.directory(), &[], missing);
        let compiler = on_disk.unwrap().into_compiler(CompilerOptions::default());
        Ok(Box::new(TestEnvironment(compiler)))
    }
}

#[async_trait]
impl ApplyEnvironment for TestEnvironment {
    async fn compile(&self, request: CompileRequest) -> Result<Box<RawValue>, String> {
        let compiled = compiler::compile(&self.0, &request).map_err(|error| error.to_string())?;
        let text = compiled.document.to_text(DocumentForm::Rich);
        let text = text.map_err(|error| error.to_string())?;
        Ok(RawValue::from_string(text).unwrap())
    }
}
