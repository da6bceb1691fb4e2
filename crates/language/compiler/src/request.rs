//! Input and result of a compilation: [`CompileRequest`], [`CompiledCatalog`].

use std::collections::BTreeSet;
use std::sync::Arc;

use evaluator::{LogLevel, Manifest, SourceLocation};
use partial_debug::partial_debug;
use pcore::{Hash, Value};

use crate::{
    CatalogDocument, CatalogReads, CompileInterrupt, ExportedResources, ProducedCapabilities,
    ProducedCapability, PuppetdbQueries, RubyCalls,
};

/// The node for which a catalog is compiled.
#[derive(Clone, Default)]
pub struct CompileRequest {
    pub certname: String,
    pub facts: Hash,
    /// The variable `$trusted`: certname, extensions of the certificate, domain.
    pub trusted: Hash,
    /// The variable `$server_facts`: name, address and version of the server.
    pub server_facts: Hash,
    /// Classes of the classifier, by name.
    pub classes: Vec<ClassifiedClass>,
    /// Configuration data of the node groups, as `CLASS::PARAMETER` and value: a level of Hiera.
    pub config_data: Arc<Hash>,
    /// Variables that the classifier sets in the top scope.
    pub parameters: Hash,
    /// Version of the catalog: seconds of the epoch, or the output of `config_version`.
    pub version: Value,
    /// Identifier of the code version, as the catalog names it.
    pub code_id: Option<String>,
    /// Statements to compile instead of the site manifests; `None` for the catalog of a node.
    pub block: Option<ApplyProgram>,
    /// Exported resources of other nodes; `None` if there is no source of them.
    pub exports: Option<Arc<dyn ExportedResources>>,
    /// Answers to `puppetdb_query`; `None` if the function is unknown.
    pub puppetdb_queries: Option<Arc<dyn PuppetdbQueries>>,
    /// Capabilities that other nodes produced; `None` if there is no source of them.
    pub capabilities: Option<Arc<dyn ProducedCapabilities>>,
    /// Components that the catalog leaves for a later run of the node.
    pub deferred_components: Arc<DeferredComponents>,
    pub catalog_uuid: String,
    /// Ends the compilation early; `None` if only its own limits end it.
    pub interrupt: Option<Arc<CompileInterrupt>>,
}

/// References of components that are left for a later run of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeferredComponents {
    /// Components that are left out.
    pub left_out: BTreeSet<String>,
    /// Components that are left out if one of the node produces for them that is left out.
    pub followers: BTreeSet<String>,
}

partial_debug!(CompileRequest { certname });

/// The `apply` block of a plan. Site manifests are not read for it, so only its own node blocks count.
#[derive(Clone)]
pub struct ApplyProgram {
    pub statements: Manifest,
    /// Variables of the plan and of the target, which are in the top scope. Facts of the same name
    /// replace them.
    pub variables: Hash,
}

// Leaves out the values of the variables, which may be secret.
partial_debug!(ApplyProgram {});

/// A class that the classifier assigns to a node.
#[derive(Debug, Clone)]
pub struct ClassifiedClass {
    pub name: String,
    /// Values of the class's parameters; empty to use data and defaults.
    pub parameters: Hash,
}

/// A catalog and the messages of its compilation.
#[derive(Debug)]
pub struct CompiledCatalog {
    pub document: CatalogDocument,
    /// What the catalog depends on besides environment and request.
    pub reads: CatalogReads,
    pub logs: Vec<CompileLog>,
    /// References of the components that the catalog leaves for a later run.
    pub left_out: Vec<String>,
    /// Capabilities that the node produces for others, once the catalog was given to it.
    pub capabilities: Vec<ProducedCapability>,
    /// Code in Ruby that the compilation called.
    pub ruby_calls: RubyCalls,
}

/// A message that the manifests or the compiler logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileLog {
    pub level: LogLevel,
    pub message: String,
    pub location: SourceLocation,
}
