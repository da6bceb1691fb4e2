//! Our compiler's answers to cases: [`compile_case`].

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, bail};
use catalogs::{CompilerOptions, EnvironmentOnDisk};
use compiler::{
    CatalogDocument, ClassifiedClass, CompileRequest, CompilerEnvironment, DocumentForm,
    ExportSearch, ExportSearchError, ExportedResource, ExportedResources, PlainCatalog,
    PlainConversion,
};
use pcore::{Hash, Value};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};
use serde_json::{Map, Value as Json, json};

use crate::catalog_cases::{CatalogAnswer, CatalogCase, CatalogNode, with_fixed_paths};
use crate::catalog_classes::{ClassCase, write_class_site};

/// Compiles a case in a directory of its own.
pub fn compile_case(case: &CatalogCase) -> Result<CatalogAnswer> {
    let scratch = tempfile::tempdir()?;
    let root = scratch.path();
    case.write_tree(root)?;
    let environment = environment_of(root, case.exports.is_some())?;
    let mut request = request_of(case)?;
    let program = on_disk(root)?.config_version()?;
    let compiled = match program.map(|program| program.run()).transpose() {
        Ok(version) => {
            if let Some(version) = version {
                request.version = version.as_str().into();
            }
            compiler::compile(&environment, &request).map_err(|error| error.to_string())
        }
        Err(error) => Err(format!("{error} on node {}", request.certname)),
    };
    let answer = match compiled {
        Ok(compiled) => {
            let document = &compiled.document;
            let mut answer = json!({
                "catalog": document.to_json(DocumentForm::Rich)?,
                "exported": document.exported_resources(DocumentForm::Rich)?,
            });
            if case.is_plain {
                answer["plain"] = plain_resources(document)?;
            }
            answer
        }
        Err(error) => json!({"error": error}),
    };
    let mut answer = CatalogAnswer::from_json(&with_fixed_paths(&answer, root));
    answer.logs = None;
    Ok(answer)
}

/// The resources without rich data, as `ruby/catalogs.rb` answers them.
fn plain_resources(document: &CatalogDocument) -> Result<Json> {
    let PlainCatalog {
        mut document,
        conversions,
    } = document.to_plain_json()?;
    let warning = |conversion: &PlainConversion| {
        let place = conversion.place.trim_start_matches("(file: ");
        let place = place.trim_end_matches(')').replace(", line: ", ":");
        format!("warning Puppet: {} ({place})", conversion.message)
    };
    let warnings: Vec<String> = conversions.iter().map(warning).collect();
    let mut plain = json!({ "resources": document["resources"].take(), "warnings": warnings });
    if let Some(first) = conversions.first() {
        plain["error"] = json!(first.as_error());
    }
    Ok(plain)
}

/// Compiles classes in one environment, which has all modules.
#[derive(Debug)]
pub struct ClassCompiler {
    scratch: tempfile::TempDir,
    environment: CompilerEnvironment,
}

impl ClassCompiler {
    pub fn new() -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        write_class_site(scratch.path())?;
        let environment = environment_of(scratch.path(), false)?;
        Ok(Self {
            scratch,
            environment,
        })
    }

    /// The answer to a class.
    pub fn answer(&self, case: &ClassCase) -> Result<CatalogAnswer> {
        let request = node_request(&case.node, None)?;
        let answer = match compiler::compile(&self.environment, &request) {
            Ok(compiled) => json!({"catalog": compiled.document.to_json(DocumentForm::Rich)?}),
            Err(error) => json!({"error": error.to_string()}),
        };
        let fixed = with_fixed_paths(&answer, self.scratch.path());
        let mut answer = CatalogAnswer::from_json(&fixed);
        (answer.logs, answer.exported) = (None, None);
        Ok(answer)
    }
}

/// The environment in the tree of a case.
pub fn environment_of(root: &Path, has_storeconfigs: bool) -> Result<CompilerEnvironment> {
    Ok(on_disk(root)?.into_compiler(CompilerOptions {
        version: root.display().to_string(),
        ruby: Some(workers().clone()),
        storeconfigs: has_storeconfigs,
        shared_units: None,
        ..CompilerOptions::default()
    }))
}

fn on_disk(root: &Path) -> Result<EnvironmentOnDisk> {
    let directory = root.join("environments/production");
    let library = [root.join("library")];
    let hiera = root.join("global/hiera.yaml");
    Ok(EnvironmentOnDisk::open(
        "production",
        &directory,
        &library,
        &hiera,
    )?)
}

/// Ruby processes that all cases share.
fn workers() -> &'static RubyWorkers {
    static WORKERS: OnceLock<RubyWorkers> = OnceLock::new();
    WORKERS.get_or_init(|| RubyWorkers::new(RubyWorkerSettings::default()))
}

fn request_of(case: &CatalogCase) -> Result<CompileRequest> {
    node_request(&case.node, case.exports.clone())
}

fn node_request(node: &CatalogNode, exports: Option<Vec<Json>>) -> Result<CompileRequest> {
    let certname = node.certname.as_str();
    let (host, domain) = match certname.split_once('.') {
        Some((host, domain)) => (host, Value::from(domain)),
        None => (certname, Value::Undef),
    };
    let trusted: Hash = [
        ("authenticated", Value::from("remote")),
        ("certname", Value::from(certname)),
        ("extensions", hash(&node.extensions)),
        ("hostname", Value::from(host)),
        ("domain", domain),
        ("external", Value::hash(Hash::new())),
    ]
    .into_iter()
    .collect();
    let mut server_facts = node.server_facts.clone();
    server_facts.insert("environment".to_owned(), json!("production"));
    let mut parameters = node.server_facts.clone();
    parameters.extend(node.parameters.clone().unwrap_or_default());
    Ok(CompileRequest {
        certname: certname.to_owned(),
        facts: plain_hash(&node.facts),
        trusted,
        server_facts: plain_hash(&server_facts),
        classes: classes_of(node.classes.as_ref())?,
        parameters: plain_hash(&parameters),
        version: Value::Int(0),
        exports: exports.map(exports_of),
        ..CompileRequest::default()
    })
}

fn classes_of(classes: Option<&Json>) -> Result<Vec<ClassifiedClass>> {
    let class = |name: &str, parameters: &Json| ClassifiedClass {
        name: name.to_owned(),
        parameters: parameters.as_object().map(plain_hash).unwrap_or_default(),
    };
    match classes {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(names)) => names
            .iter()
            .map(|name| {
                Ok(class(
                    name.as_str().context("a class has no name")?,
                    &Json::Null,
                ))
            })
            .collect(),
        Some(Json::Object(classes)) => Ok(classes
            .iter()
            .map(|(name, parameters)| class(name, parameters))
            .collect()),
        Some(other) => bail!("{other} are no classes"),
    }
}

fn exports_of(resources: Vec<Json>) -> Arc<dyn ExportedResources> {
    Arc::new(RecordedExports { resources })
}

/// Exported resources of other nodes, as a case names them.
struct RecordedExports {
    resources: Vec<Json>,
}

impl ExportedResources for RecordedExports {
    fn search(
        &self,
        search: &ExportSearch<'_>,
    ) -> std::result::Result<Vec<ExportedResource>, ExportSearchError> {
        let query = search.query;
        let resources = self.resources.iter();
        let resources = resources.filter(|resource| resource["type"] == search.type_name);
        let resources = resources.map(|resource| ExportedResource {
            certname: resource["certname"].as_str().unwrap_or("other").to_owned(),
            title: resource["title"].as_str().unwrap_or_default().to_owned(),
            parameters: resource["parameters"]
                .as_object()
                .map(plain_hash)
                .unwrap_or_default(),
            tags: texts(&resource["tags"]),
        });
        Ok(resources
            .filter(|resource| query.is_none_or(|query| resource.is_accepted_by(query)))
            .collect())
    }
}

fn texts(list: &Json) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(Json::as_str).map(str::to_owned).collect()
}

fn hash(map: &Map<String, Json>) -> Value {
    Value::hash(plain_hash(map))
}

fn plain_hash(map: &Map<String, Json>) -> Hash {
    map.iter()
        .map(|(name, value)| (name.as_str(), Value::from_json(value)))
        .collect()
}
