//! Manifests that are compiled with data of other nodes: [`compile`], [`compile_request`].

use std::sync::Arc;
use std::time::Duration;

use catalogs::{CompilerOptions, EnvironmentOnDisk, InventoryQueries, PuppetdbExports};
use compiler::{CompileRequest, CompiledCatalog, DocumentForm};
use inventory::{Inventory, PuppetDbConfig};
use serde_json::Value as Json;
use tokio::runtime::Runtime;

/// Result of a compilation: the document, or the message of the error.
pub(crate) type Compiled = Result<Json, String>;

/// Compiles a manifest for the node `here` with the PuppetDB at `url`.
pub(crate) fn compile(manifest: &str, url: &str) -> Compiled {
    let mut config = PuppetDbConfig::new([url], None).unwrap();
    config.total_timeout = Duration::from_secs(2);
    compile_with(manifest, Some(config))
}

/// The same with any configuration, or without PuppetDB.
pub(crate) fn compile_with(manifest: &str, config: Option<PuppetDbConfig>) -> Compiled {
    let runtime = Runtime::new().unwrap();
    let mut request = request("here");
    if let Some(config) = config {
        let inventory = Inventory::puppetdb(config);
        let handle = runtime.handle().clone();
        let exports = PuppetdbExports::new(inventory.clone(), handle.clone());
        request.exports = Some(Arc::new(exports));
        request.puppetdb_queries = Some(Arc::new(InventoryQueries::new(inventory, handle)));
    }
    document(&compile_request(manifest, &request)?)
}

/// A request for the catalog of a node without facts.
pub(crate) fn request(certname: &str) -> CompileRequest {
    CompileRequest {
        certname: certname.to_owned(),
        ..CompileRequest::default()
    }
}

/// Compiles a manifest; the error has its hints.
pub(crate) fn compile_request(
    manifest: &str,
    request: &CompileRequest,
) -> Result<CompiledCatalog, String> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("manifests")).unwrap();
    std::fs::write(directory.path().join("manifests/site.pp"), manifest).unwrap();
    let hiera = directory.path().join("no-hiera.yaml");
    let on_disk = EnvironmentOnDisk::open("production", directory.path(), &[], &hiera).unwrap();
    let environment = on_disk.into_compiler(CompilerOptions {
        storeconfigs: true,
        ..CompilerOptions::default()
    });
    compiler::compile(&environment, request).map_err(|error| {
        let hints = error.hints.join("; ");
        format!("{error} [{hints}]").replace(&directory.path().display().to_string(), "")
    })
}

pub(crate) fn document(compiled: &CompiledCatalog) -> Compiled {
    let document = compiled.document.to_json(DocumentForm::Rich);
    document.map_err(|error| error.to_string())
}

/// The resource of a document, by its type and title.
pub(crate) fn resource<'d>(document: &'d Json, type_name: &str, title: &str) -> Option<&'d Json> {
    let resources = document["resources"].as_array().unwrap();
    resources
        .iter()
        .find(|it| it["type"] == type_name && it["title"] == title)
}
