//! A node and the code from which its catalog is compiled: [`NodeOptions`], [`LocalCompiler`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalogs::{
    CatalogOutcome, EnvironmentFiles, EnvironmentOnDisk, RubyCalls, RubyWorkerProvider,
};
use clap::builder::NonEmptyStringValueParser;
use compiler::{
    ClassifiedClass, CompileError, CompileRequest, CompiledCatalog, CompilerEnvironment,
    DocumentForm, EnvironmentSettings,
};
use lookup::HieraSettings;
use pcore::{Hash, Value};
use ruby_workers::{RubyEnvironment, RubyWorkerSettings, RubyWorkers};

use crate::environment::{EnvironmentLocation, facts};
use cli::CommandFailure;

/// Options for the node and its code.
#[derive(Debug, clap::Args)]
pub(crate) struct NodeOptions {
    #[command(flatten)]
    location: EnvironmentLocation,
    /// Directory of an environment, such as a checkout of a control repository, instead of one by
    /// name
    #[arg(long, value_name = "DIR", conflicts_with_all = ["environmentpath", "codedir"])]
    code_dir: Option<PathBuf>,
    /// File with the facts of the node (JSON or YAML), as `puppet facts show` prints them
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Classes of the node in addition to those of the manifests, separated by commas
    #[arg(long, value_name = "CLASS,CLASS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    classes: Vec<String>,
    /// Refuse functions and templates in Ruby instead of running Ruby
    #[arg(long)]
    no_ruby: bool,
}

/// An environment on this machine, ready to compile.
pub(crate) struct LocalCompiler {
    environment: CompilerEnvironment,
    ruby: Option<Arc<RubyWorkerProvider>>,
}

impl NodeOptions {
    /// The environment that the options name; `other` replaces `--code-dir`.
    pub(crate) fn compiler(&self, other: Option<&Path>) -> Result<LocalCompiler, CommandFailure> {
        let on_disk = match other.or(self.code_dir.as_deref()) {
            Some(directory) => self.location.in_directory(directory)?,
            None => self.location.find()?,
        };
        Ok(LocalCompiler::new(on_disk, !self.no_ruby))
    }

    /// The request for a node's catalog.
    pub(crate) fn request(&self, certname: &str) -> Result<CompileRequest, CommandFailure> {
        self.request_with_facts(certname, None)
    }

    /// The request for a node's catalog with the facts of a file instead of those of `--facts`.
    pub(crate) fn request_with_facts(
        &self,
        certname: &str,
        file: Option<&Path>,
    ) -> Result<CompileRequest, CommandFailure> {
        let facts = facts::of_node(file.or(self.facts.as_deref()), certname)?;
        let classes = self.classes.iter().map(|name| ClassifiedClass {
            name: name.clone(),
            parameters: Hash::new(),
        });
        Ok(CompileRequest {
            certname: certname.to_owned(),
            trusted: facts::trusted(certname),
            classes: classes.collect(),
            facts,
            version: Value::Int(seconds_of_epoch()),
            catalog_uuid: uuid::Uuid::new_v4().to_string(),
            ..CompileRequest::default()
        })
    }
}

fn seconds_of_epoch() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

impl LocalCompiler {
    fn new(on_disk: EnvironmentOnDisk, has_ruby: bool) -> Self {
        let ruby = has_ruby.then(|| {
            let workers = RubyWorkers::new(RubyWorkerSettings::default());
            Arc::new(RubyWorkerProvider::new(
                workers,
                RubyEnvironment {
                    name: on_disk.name.clone(),
                    version: "local".to_owned(),
                    directory: on_disk.root.clone(),
                    module_directories: on_disk.modulepath.clone(),
                },
            ))
        });
        let settings = EnvironmentSettings {
            name: on_disk.name.clone(),
            hiera: HieraSettings {
                global_config: Some(on_disk.hiera_config.clone()),
                environment_root: Some(on_disk.root.clone()),
                plan: false,
                strict: true,
            },
            settings: Vec::new(),
            storeconfigs: false,
            ruby: ruby.clone().map(|it| it as Arc<dyn compiler::RubyProvider>),
        };
        let code = EnvironmentFiles::from_environment(on_disk);
        Self {
            environment: CompilerEnvironment::new(settings, Box::new(code)),
            ruby,
        }
    }

    pub(crate) fn compile(
        &self,
        request: &CompileRequest,
    ) -> Result<CompiledCatalog, Box<CompileError>> {
        compiler::compile(&self.environment, request)
    }

    /// The catalog of a node in rich data, or the message of the error.
    pub(crate) fn outcome(&self, request: &CompileRequest) -> CatalogOutcome {
        let compiled = self.compile(request).map_err(|error| error.to_string())?;
        let document = compiled.document.to_json(DocumentForm::Rich);
        document.map_err(|error| error.to_string())
    }

    /// Calls of Ruby code so far.
    pub(crate) fn ruby_calls(&self) -> RubyCalls {
        self.ruby
            .as_ref()
            .map(|ruby| ruby.calls())
            .unwrap_or_default()
    }

    /// Name of the environment.
    pub(crate) fn environment(&self) -> &str {
        self.environment.name()
    }
}
