//! A node and the code from which its catalog is compiled: [`NodeOptions`], [`LocalCompiler`].

use std::path::{Path, PathBuf};

use catalogs::{CatalogOutcome, CompilerOptions, EnvironmentOnDisk};
use clap::builder::NonEmptyStringValueParser;
use compiler::{
    ClassifiedClass, CompileError, CompileRequest, CompiledCatalog, CompilerEnvironment,
    DocumentForm, trusted_data,
};
use pcore::{Hash, Value};
use ruby_workers::{HiddenPaths, RubyWorkerSettings, RubyWorkers};
use serde_json::{Map, Value as Json};

use super::client_certificate::ClientCertificateOptions;
use super::puppetdb::PuppetdbConnection;
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
    /// Address of a PuppetDB for exported resources and capabilities of other nodes, and for puppetdb_query
    #[arg(long, value_name = "URL")]
    puppetdb: Option<String>,
    #[command(flatten)]
    pub(super) certificate: ClientCertificateOptions,
}

/// An environment on this machine, ready to compile.
pub(crate) struct LocalCompiler {
    environment: CompilerEnvironment,
    /// Version of all catalogs; `None` for the time.
    version: Option<String>,
    puppetdb: Option<PuppetdbConnection>,
}

impl NodeOptions {
    /// The environment that the options name; `other` replaces `--code-dir`.
    pub(crate) fn compiler(&self, other: Option<&Path>) -> Result<LocalCompiler, CommandFailure> {
        let on_disk = match other.or(self.code_dir.as_deref()) {
            Some(directory) => self.location.in_directory(directory)?,
            None => self.location.find()?,
        };
        let puppetdb = self.puppetdb.as_deref();
        let puppetdb = puppetdb.map(|url| PuppetdbConnection::new(url, &self.certificate));
        LocalCompiler::new(on_disk, !self.no_ruby, puppetdb.transpose()?)
    }

    /// Name of the environment, if it was given.
    pub(crate) fn environment_name(&self) -> Option<String> {
        self.location.given_name().map(str::to_owned)
    }

    /// The facts of `--facts`, for a server.
    pub(crate) fn facts_as_json(&self) -> Result<Option<Map<String, Json>>, CommandFailure> {
        let Some(path) = &self.facts else {
            return Ok(None);
        };
        let facts = facts::of(Some(path))?;
        let json = Value::hash(facts).to_json();
        let json = json.map_err(|error| CommandFailure::Content {
            place: path.display().to_string(),
            what: error.to_string(),
        })?;
        // as `puppet facts find` prints them
        let values = json.get("values").filter(|it| it.is_object());
        Ok(values.unwrap_or(&json).as_object().cloned())
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
            trusted: trusted_data(certname, "local", None),
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
    fn new(
        on_disk: EnvironmentOnDisk,
        has_ruby: bool,
        puppetdb: Option<PuppetdbConnection>,
    ) -> Result<Self, CommandFailure> {
        let version = on_disk.config_version().and_then(|program| {
            let version = program.map(|program| program.run());
            version.transpose()
        });
        let version = version.map_err(|error| CommandFailure::Content {
            place: on_disk.root.join("environment.conf").display().to_string(),
            what: error.to_string(),
        })?;
        let ruby = has_ruby.then(|| RubyWorkers::new(RubyWorkerSettings::default()));
        let options = CompilerOptions {
            version: "local".to_owned(),
            ruby,
            storeconfigs: puppetdb.is_some(),
            shared_units: None,
            hidden_paths: HiddenPaths::default(),
            ..CompilerOptions::default()
        };
        Ok(Self {
            environment: on_disk.into_compiler(options),
            version,
            puppetdb,
        })
    }

    /// Compiles a catalog, with the PuppetDB of the options.
    pub(crate) fn compile(
        &self,
        mut request: CompileRequest,
    ) -> Result<CompiledCatalog, Box<CompileError>> {
        if let Some(puppetdb) = &self.puppetdb {
            puppetdb.serve(&mut request);
        }
        if let Some(version) = &self.version {
            request.version = Value::from(version.as_str());
        }
        compiler::compile(&self.environment, &request)
    }

    /// The catalog of a node in rich data, or the message of the error.
    pub(crate) fn outcome(&self, request: CompileRequest) -> CatalogOutcome {
        let compiled = self.compile(request).map_err(|error| error.to_string())?;
        let document = compiled.document.to_json(DocumentForm::Rich);
        document.map_err(|error| error.to_string())
    }

    /// Name of the environment.
    pub(crate) fn environment(&self) -> &str {
        self.environment.name()
    }
}
